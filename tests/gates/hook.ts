import assert from "node:assert/strict";
import type { Recorded } from "../support/mocks.ts";

/** Runs a recorded hook as the engine would. */
export async function runHook({ hooks }: Recorded, name: string, args: object = {}): Promise<void> {
  await Reflect.apply(hooks.get(name)?.callback ?? assert.fail(`there is no hook ${name}`), undefined, [args]);
}
