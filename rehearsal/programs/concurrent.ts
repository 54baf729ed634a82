import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../components/gates/messageOf.ts";
import { RehearsalError } from "../host/errors.ts";

/** Groups of programs that are not needed before the control plane runs, in the order in which they are. */
export type LaterGroup = "wine" | "add-ons" | "checkers";

/** Downloads and builds that continue while the cluster boots. */
export interface ConcurrentPrograms {
  /** Where the other process looks; for {@link untilAtHand}. */
  readonly folder: string;
  /** Resolves when every group is at hand or cannot be had. */
  readonly done: Promise<void>;
}

/** Obtains groups of programs one after the other and says of each, by a file, that it is at hand or why it cannot be had. */
export async function obtainConcurrently(
  groups: readonly (readonly [group: LaterGroup, obtain: () => Promise<unknown>])[],
): Promise<ConcurrentPrograms> {
  const folder = await mkdtemp(path.join(tmpdir(), "fenestra-programs-"));
  const obtainAll = async (): Promise<void> => {
    for (const [group, obtain] of groups) {
      const problem = await obtain().then(() => "", messageOf);
      const file = path.join(folder, group);
      await writeFile(`${file}.partial`, problem);
      await rename(`${file}.partial`, file);
    }
  };
  return { folder, done: obtainAll() };
}

/** Removes what {@link obtainConcurrently} has made, once nobody looks any more. */
export async function forgetConcurrent({ folder, done }: ConcurrentPrograms): Promise<void> {
  await done;
  await rm(folder, { recursive: true, force: true });
}

/**
 * Waits until the other process has a group of programs, and finds them in the cache.
 * @throws RehearsalError with its reason when it cannot have them
 */
export async function untilAtHand<T>(folder: string, group: LaterGroup, find: () => Promise<T>): Promise<T> {
  for (;;) {
    const problem = await readFile(path.join(folder, group), "utf8").catch(() => undefined);
    if (problem === "") return await find();
    if (problem !== undefined) throw new RehearsalError(problem, []);
    await sleep(250, undefined, { ref: false });
  }
}
