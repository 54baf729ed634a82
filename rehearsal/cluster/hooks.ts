import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ClientRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { skipVariable } from "../../components/gates/mayStart.ts";
import type { RecordedHook } from "../../plan/program/engine.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { reveal } from "../../plan/program/values.ts";

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

/**
 * Whether a gate stays shut while the API answers it so often. Its hook runs in this process, with a request per look,
 * which Node reports (node:diagnostics_channel, `http.client.response.finish`).
 *
 * @param opening resolves when the gate opens
 * @param path what the gate's hook asks for
 */
export async function staysShut(opening: Promise<void>, path: RegExp, answers: number): Promise<boolean> {
  const channel = "http.client.response.finish";
  const enough = Promise.withResolvers<void>();
  let seen = 0;
  const count = (message: unknown): void => {
    if (typeof message !== "object" || message === null || !("request" in message)) return;
    const { request } = message;
    if (request instanceof ClientRequest && path.test(request.path) && ++seen >= answers) enough.resolve();
  };
  subscribe(channel, count);
  try {
    // An answer's head comes before its text, by which the hook judges.
    const held = enough.promise.then(async () => await sleep(1_000)).then(() => true);
    return await Promise.race([held, opening.then(() => false)]);
  } finally {
    unsubscribe(channel, count);
  }
}
