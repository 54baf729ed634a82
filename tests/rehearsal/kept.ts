import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { stackDir } from "../support/stacks.ts";

/** A rehearsal of aws-dev that stays until it is ended. */
export interface KeptRehearsal {
  /** Words before a command that is to run in the rehearsal's namespaces. */
  readonly enter: readonly string[];
  /** Path of kubectl, and of an administrator's kubeconfig in these namespaces. */
  readonly kubectl: string;
  readonly kubeconfig: string;
  end(): Promise<void>;
}

/** Starts one, and waits until it prints how kubectl is called there. */
export async function keepRehearsal(): Promise<KeptRehearsal> {
  const args = ["rehearse", "--stack", "aws-dev", ...stackDir, "--keep", "--only", "nodes"];
  const fenestra = path.join(import.meta.dirname, "../../cli/fenestra");
  const rehearsal = spawn(fenestra, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  for await (const line of createInterface({ input: rehearsal.stdout })) {
    lines.push(line);
    const [, enter, kubectl, kubeconfig] = /^\s+(\S.*) (\S+) --kubeconfig (\S+) get nodes$/.exec(line) ?? [];
    if (enter === undefined || kubectl === undefined || kubeconfig === undefined) continue;
    const end = async (): Promise<void> => {
      rehearsal.kill("SIGINT");
      await once(rehearsal, "exit");
    };
    return { enter: enter.split(" "), kubectl, kubeconfig, end };
  }
  throw new Error(`the rehearsal ended:\n${lines.slice(-20).join("\n")}`);
}
