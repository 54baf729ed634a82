import type { Progress } from "../host/progress.ts";
import type { EngineAccess } from "./engine.ts";

/** Prints how to look around and waits for Ctrl-C. */
export async function untilInterrupted(
  progress: Progress,
  view: { readonly kubeconfigFile: string; readonly kubectl: string },
  enter: readonly string[],
): Promise<void> {
  progress.line(
    [
      "everything runs; press Ctrl-C to take it down. From another terminal, as the same user:",
      [...enter, view.kubectl, "--kubeconfig", view.kubeconfigFile, "get", "nodes"].join(" "),
    ].join("\n"),
  );
  await interruption();
}

/** Prints how to run the engine and waits for Ctrl-C. */
export async function untilEngineIsDone(
  progress: Progress,
  stack: string,
  { variables, folder }: EngineAccess,
  enter: readonly string[],
): Promise<void> {
  progress.line("the simulated clouds wait for an engine; press Ctrl-C to end. In another terminal, as the same user:");
  console.log(`${variables}pulumi="${[...enter, "pulumi", "-C", folder].join(" ")}"`);
  console.log(`$pulumi stack init ${stack}; $pulumi up`);
  await interruption();
}

async function interruption(): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => undefined, 60_000);
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.once(signal, () => {
        clearInterval(timer);
        resolve();
      });
  });
}
