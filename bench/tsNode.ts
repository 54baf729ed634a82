import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

const tsconfigShape = z.object({ compilerOptions: z.record(z.string(), z.unknown()) });

/** Options that TypeScript refuses together with CommonJS, or when it writes its output. */
const onlyNative = [
  "allowImportingTsExtensions",
  "noEmit",
  "erasableSyntaxOnly",
  "verbatimModuleSyntax",
  "module",
  "moduleResolution",
];

/**
 * A copy of the program that Pulumi's default start can load, and a script that starts it so. The ts-node inside the SDK (7.0.1) hooks
 * `require` and knows no ES modules, and this program is made of them: the copy is the same code with CommonJS imports. The script registers
 * ts-node with the options of the SDK's own start (pulumi/pulumi, sdk/nodejs/cmd/run/run.ts): types are checked, by this project's compiler.
 *
 * @param root folder of this project.
 * @param folder an empty folder for the copy.
 * @returns path of the script, which prints how long its process took, in milliseconds, like `start.ts`.
 */
export function commonJsCopy(root: string, folder: string): string {
  for (const part of ["index.ts", "components", "stacks"])
    cpSync(path.join(root, part), path.join(folder, part), { recursive: true });
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue;
    const text = readFileSync(path.join(folder, file), "utf8");
    const asCommonJs = text
      .replace(/((?:from|import\()\s*"\.[^"]*)\.ts"/g, '$1"')
      .replaceAll("import.meta.url", 'require("node:url").pathToFileURL(__filename).href');
    writeFileSync(path.join(folder, file), asCommonJs);
  }
  symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  const { compilerOptions } = tsconfigShape.parse(JSON.parse(readFileSync(path.join(root, "tsconfig.json"), "utf8")));
  const kept = Object.entries(compilerOptions).filter(([name]) => !onlyNative.includes(name));
  const options = { ...Object.fromEntries(kept), module: "commonjs", moduleResolution: "bundler" };
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options }));
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ name: "copy", type: "commonjs" }));
  const script = path.join(folder, "start.cjs");
  writeFileSync(script, startScript);
  return script;
}

const startScript = `const path = require("node:path");
const sdk = path.dirname(require.resolve("@pulumi/pulumi/package.json"));
const { compilerOptions } = require("./tsconfig.json");
require(path.join(sdk, "vendor/ts-node@7.0.1")).register({
  compiler: "typescript",
  project: "tsconfig.json",
  skipProject: false,
  compilerOptions: { target: "ES2020", sourceMap: "true", ...compilerOptions },
});
require("@pulumi/pulumi");
require("./index.ts");
require("./stacks/aws.ts");
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ wall: performance.now(), cpu: (user + system) / 1000 }));
`;
