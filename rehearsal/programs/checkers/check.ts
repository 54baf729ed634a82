import { z } from "zod";
import { runOrFail } from "../../host/command.ts";
import { RehearsalError } from "../../host/errors.ts";
import type { Checkers } from "./obtain.ts";

/** A file for the checkers. */
export interface ConfigRequest {
  /** Comes back with the answer; unique among the requests of a call. */
  readonly id: string;
  /** Program that reads the file. */
  readonly kind: "kubelet" | "containerd";
  /** System of the machine. */
  readonly os: "linux" | "windows";
  /** Kubernetes minor of the machine: `1.36`. containerd's version does not depend on it. */
  readonly minor: string;
  readonly text: string;
}

const answersSchema = z.array(z.strictObject({ id: z.string(), problems: z.array(z.string()) }));

/**
 * Has each file read by the code of the program that it is for.
 *
 * @returns problems by the request's id; an empty list for a file that is fine.
 * @throws RehearsalError when there is no checker of a kubelet's minor
 */
export async function checkConfigs(
  checkers: Checkers,
  requests: readonly ConfigRequest[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>();
  for (const [program, list] of Map.groupBy(requests, (request) => programFor(checkers, request))) {
    const input = JSON.stringify(list.map(({ id, os, text }) => ({ id, os, text })));
    const answers = answersSchema.parse(JSON.parse(await runOrFail([program], { stdin: input })));
    for (const { id, problems } of answers) found.set(id, problems);
  }
  const unanswered = requests.filter(({ id }) => !found.has(id));
  if (unanswered.length > 0) throw new Error(`no answer for ${unanswered.map(({ id }) => id).join(", ")}`);
  return found;
}

function programFor(checkers: Checkers, { kind, minor }: ConfigRequest): string {
  const program = kind === "containerd" ? checkers.containerd : checkers.kubelet.get(minor);
  if (program !== undefined) return program;
  throw new RehearsalError(`There is no checker of kubelet ${minor}.`, ["ask obtainCheckers for this minor"]);
}
