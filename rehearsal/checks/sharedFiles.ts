import { CheckFailure, expect } from "../../checks/check.ts";
import type { DecodedFile } from "../../plan/decode/userData.ts";
import type { DecodedMachine } from "../cluster/bringUp.ts";

/** A file with every machine that received exactly this text under this path. */
export interface SharedFile {
  readonly machines: readonly string[];
  readonly os: "linux" | "windows";
  readonly path: string;
  readonly content: string;
}

/** Reads a file and returns what is wrong with it. */
export type Reader = (file: SharedFile) => Promise<readonly string[]>;

/** Files that fulfil a condition, each text once. */
export function shared(machines: readonly DecodedMachine[], wanted: (file: DecodedFile) => boolean): readonly SharedFile[] {
  return grouped(machines, ({ payload }) => payload.files.filter(wanted));
}

/**
 * The one file of its kind that every machine must have.
 * @throws CheckFailure when a machine has none or more than one
 */
export function onePer(machines: readonly DecodedMachine[], kind: string, wanted: (file: DecodedFile) => boolean): readonly SharedFile[] {
  for (const { machine, payload } of machines) {
    const paths = payload.files.filter(wanted).map(({ path }) => path);
    expect(paths.length === 1, `${machine.name}: found ${paths.join(", ") || "no"} ${kind}, wanted one`);
  }
  return shared(machines, wanted);
}

/** What the cloud's own agent reads: the cloud-config, or the loader of a Windows machine. */
export function sources(machines: readonly DecodedMachine[]): readonly SharedFile[] {
  return grouped(machines, ({ payload }) => {
    // EC2Launch takes the script out of its tags; Azure's custom data is the script itself.
    const content = /^<powershell>\n([\s\S]*?)^<\/powershell>/m.exec(payload.source)?.[1] ?? payload.source;
    return [{ path: "user data", content, mode: undefined }];
  });
}

/** Reads every file. @throws CheckFailure that names machine, path and problem of all that is wrong. */
export async function readAll(files: readonly SharedFile[], reader: Reader): Promise<void> {
  expect(files.length > 0, "no machine has such a file");
  const found: string[] = [];
  for (const file of files) for (const problem of await reader(file)) found.push(`${file.machines.join(", ")}: ${file.path}: ${problem}`);
  if (found.length > 0) throw new CheckFailure(found.join("\n"));
}

function grouped(machines: readonly DecodedMachine[], filesOf: (machine: DecodedMachine) => readonly DecodedFile[]): readonly SharedFile[] {
  const all = machines.flatMap((machine) =>
    filesOf(machine).map(({ path, content }) => ({ name: machine.machine.name, os: machine.payload.system, path, content })),
  );
  const groups = Map.groupBy(all, ({ os, path, content }) => JSON.stringify([os, path, content]));
  return [...groups.values()].flatMap(([first, ...rest]) =>
    first === undefined ? [] : [{ ...first, machines: [first, ...rest].map(({ name }) => name) }],
  );
}
