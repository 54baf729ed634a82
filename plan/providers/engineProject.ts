import { randomBytes } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { moreArtifacts, transformsFile, transformsVariable } from "../../components/config/projectFile.ts";
import { skipVariable } from "../../components/gates/mayStart.ts";
import { artifactsVariable } from "../../components/model/artifacts.ts";

const root = path.join(import.meta.dirname, "../../");

/**
 * Replaces documentation's values, which the program refuses in front of an engine
 * (`components/model/exampleValues.ts`), by others that lead nowhere either.
 */
export function withoutExamples(config: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(config).map(([key, text]) => [
      key,
      text
        // RFC 2544, networks for measurements.
        .replaceAll(/\b(?:192\.0|198\.51|203\.0)\.(2|100|113)\.(\d)/g, "198.18.$1.$2")
        .replaceAll("ami-0123456789abc", "ami-0fedcba987654")
        .replaceAll(".012345678", ".876543210")
        .replaceAll(/\bexample\.(?:com|net|org)\b/g, "example.test")
        .replaceAll(/(?<=[a-z0-9-])\.example(?![a-z0-9-]|\.[a-z0-9])/gi, ".test"),
    ]),
  );
}

export interface EngineProject {
  readonly folder: string;
  readonly stack: string;
  readonly config: Readonly<Record<string, string>>;
  readonly ports: ReadonlyMap<string, number>;
}

/**
 * A Pulumi project with this program, a copy of the stack file and separate state. Without automatic acquisition the
 * engine downloads no plug-in whose place is taken (pulumi/pulumi v3.260.0, sdk/go/common/env/env.go;
 * pkg/engine/plugins.go continues without what is missing).
 *
 * @returns lines for a shell that make the engine use it.
 */
export function makeEngineProject({ folder, stack, config, ports }: EngineProject): string {
  for (const inner of ["state", "stacks"]) mkdirSync(path.join(folder, inner), { mode: 0o700 });
  copyFileSync(path.join(root, "Pulumi.yaml"), path.join(folder, "Pulumi.yaml"));
  for (const own of ["index.ts", "package.json", "node_modules"])
    symlinkSync(path.join(root, own), path.join(folder, own));
  const more = process.env[artifactsVariable];
  if (more !== undefined && existsSync(more)) copyFileSync(more, path.join(folder, "stacks", moreArtifacts));
  const own = process.env[transformsVariable];
  if (own !== undefined && existsSync(own)) copyFileSync(own, path.join(folder, "stacks", transformsFile));
  // JSON is YAML; the program gets structures as JSON text in any case.
  writeFileSync(path.join(folder, "stacks", `Pulumi.${stack}.yaml`), `${JSON.stringify({ config }, null, 2)}\n`);
  const variables = {
    [skipVariable]: "all",
    PULUMI_DEBUG_PROVIDERS: [...ports].map(([name, port]) => `${name}:${port}`).join(","),
    PULUMI_BACKEND_URL: `file://${path.join(folder, "state")}`,
    PULUMI_CONFIG_PASSPHRASE: randomBytes(16).toString("hex"),
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    PULUMI_SKIP_UPDATE_CHECK: "true",
  };
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${value}\n`)
    .join("");
}
