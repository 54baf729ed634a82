import { spawnSync } from "node:child_process";
import path from "node:path";
import type { Context } from "mocha";
import { skipIf } from "./skip.ts";

/** Of the newest CLI that can be built from its module. */
export const pulumiVersion = "3.259.0";

/** Builds Pulumi's CLI as `file`. Without Go the suite is skipped, as by {@link skipIf}. */
export function buildPulumi(suite: Context, file: string): void {
  suite.timeout(3_600_000);
  const flags = `-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=${pulumiVersion}`;
  const folder = path.join(import.meta.dirname, "../../tools/pulumi");
  const args = ["build", "-C", folder, "-ldflags", flags, "-o", file, "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"];
  const built = spawnSync("go", args, { encoding: "utf8" });
  skipIf(suite, built.status === 0 ? undefined : `Pulumi was not built: ${built.error?.message ?? built.stderr}`);
}
