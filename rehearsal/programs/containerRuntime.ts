import { fileURLToPath } from "node:url";
import type { Progress } from "../host/progress.ts";
import { obtainRepoPrograms, type RepoProgram } from "./repoPrograms.ts";

/** The project's Go module with Kubernetes' programs and what is made of its code. */
export const toolsFolder = fileURLToPath(new URL("../../tools", import.meta.url));

/** The program that takes containerd's place in the machines. */
export function containerRuntime(module: string): RepoProgram {
  return { name: "container-runtime", goPackage: "./runtime", module, label: "tools", source: "runtime", buildSeconds: 15 };
}

/**
 * Its path; {@link obtainPrograms} has built it where it built Kubernetes.
 * @throws RehearsalError when there is no Go or when the build fails
 */
export async function obtainContainerRuntime(progress: Progress): Promise<string> {
  const program = containerRuntime(toolsFolder);
  return (await obtainRepoPrograms([program], { progress })).get(program.name) ?? "";
}

/**
 * The reader of KubeletConfigurations of a Kubernetes minor, built with the same versions as its kubelet: what that build compiled is not
 * compiled again.
 */
export function kubeletChecker(module: string, minor: string, modFile: string | undefined): RepoProgram {
  const goPackage = "./check-kubelet";
  return { name: `check-kubelet-${minor}`, goPackage, module, label: "tools", source: "check-kubelet", modFile, buildSeconds: 10 };
}
