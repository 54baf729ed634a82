import { readFile, rename, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { minorOf } from "../../../components/model/releases.ts";
import { RehearsalError } from "../../host/errors.ts";
import type { Progress } from "../../host/progress.ts";
import type { Programs } from "../obtain.ts";
import { type Checkers, obtainCheckers } from "./obtain.ts";

/** A file that exists once the checkers are there. */
export function builtFile(): string {
  return path.join(tmpdir(), `fenestra-rehearsal-${process.pid}-built`);
}

/** Says in one step that the checkers are built, or why there are none. */
export async function announceBuilt(file: string, checkers: Checkers | string): Promise<void> {
  await writeFile(`${file}.partial`, typeof checkers === "string" ? checkers : "");
  await rename(`${file}.partial`, file);
}

/** Waits until the outer process has built the checkers. It has the network. @returns why there are none */
export async function untilBuilt(file: string): Promise<string | undefined> {
  for (;;) {
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text !== undefined) return text === "" ? undefined : text;
    await sleep(250, undefined, { ref: false });
  }
}

/** Programs that read the machines' files for this control plane's version, or why there are none. */
export async function checkersFor(programs: Programs, progress: Progress): Promise<Checkers | string> {
  try {
    return await obtainCheckers({ progress, minors: [minorOf(programs["kube-apiserver"].version)] });
  } catch (error) {
    if (!(error instanceof RehearsalError)) throw error;
    progress.line(error.message);
    return error.message;
  }
}
