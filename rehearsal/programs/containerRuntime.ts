import { fileURLToPath } from "node:url";
import type { Progress } from "../host/progress.ts";
import { obtainOwnPrograms } from "./ownPrograms.ts";

/**
 * Path of the program that takes containerd's place in the machines: built from `tools/runtime` once, then cached.
 * @throws RehearsalError when there is no Go or when the build fails
 */
export async function obtainContainerRuntime(progress: Progress): Promise<string> {
  const name = "container-runtime";
  const found = await obtainOwnPrograms({
    progress,
    programs: [{ name, goPackage: "./runtime", buildSeconds: 20 }],
    module: fileURLToPath(new URL("../../tools", import.meta.url)),
    label: "tools/runtime",
    sources: ["runtime", "go.mod", "go.sum"],
  });
  return found.get(name) ?? "";
}
