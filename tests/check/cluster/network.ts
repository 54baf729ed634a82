import type { ExecResult, ProbeStart } from "../../../check/cluster/probe.ts";

/** A start whose commands end as the list says, the last for ever. */
export function fakeStart(results: readonly (ExecResult | Error)[]): ProbeStart & { readonly commands: string[] } {
  const commands: string[] = [];
  return {
    name: "pod linux-a0",
    os: "linux",
    commands,
    run: async (command) => {
      const result = results[Math.min(commands.length, results.length - 1)];
      commands.push(command.join(" "));
      if (result === undefined || result instanceof Error) throw result ?? new Error("no result");
      return result;
    },
  };
}

export function ended(code: number, stdout = "", stderr = ""): ExecResult {
  return { code, stdout, stderr };
}
