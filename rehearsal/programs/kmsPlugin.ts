import { fileURLToPath } from "node:url";
import type { Progress } from "../host/progress.ts";
import { obtainOwnPrograms } from "./ownPrograms.ts";

/** Names under which machines start the plug-in of a key service, one for each cloud. The fake asks by which one it was started. */
export const kmsPluginNames = ["aws-encryption-provider", "kubernetes-kms"] as const;

/**
 * Path of the fake of these plug-ins, built from `tools/kms` once, then cached. Nobody publishes the originals for a machine.
 * @throws RehearsalError when there is no Go or when the build fails
 */
export async function obtainKmsPlugin(progress: Progress): Promise<string> {
  const name = "kms-plugin";
  const found = await obtainOwnPrograms({
    progress,
    programs: [{ name, goPackage: ".", buildSeconds: 20 }],
    module: fileURLToPath(new URL("../../tools/kms", import.meta.url)),
    label: "tools/kms",
  });
  return found.get(name) ?? "";
}
