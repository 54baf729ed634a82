import { reveal } from "../../components/gates/resources.ts";
import { skipVariable } from "../../components/gates/waitFor.ts";
import type { RecordedHook } from "../../plan/program/engine.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";

/**
 * Calls a hook of the program as an engine does before it makes or changes the hook's resource (pulumi/pulumi:
 * sdk/proto/pulumi/callback.proto, ResourceHookRequest).
 *
 * @param kept what a Stash kept from an earlier update
 * @throws what the hook throws
 */
export async function callHook(
  { program, hooks }: { readonly program: RecordedProgram; readonly hooks: ReadonlyMap<string, RecordedHook> },
  name: string,
  kept?: unknown,
): Promise<void> {
  // No cloud is asked whether it would start a machine.
  process.env[skipVariable] = "all";
  const hook = hooks.get(name);
  if (hook === undefined) throw new Error(`the program registered no hook ${name}`);
  const owner = program.resources.find(({ options }) => Object.values(options.hooks).flat().includes(name));
  const newInputs = reveal({ ...owner?.inputs });
  await Reflect.apply(hook.callback, undefined, [{ oldInputs: { input: kept }, newInputs }]);
}
