import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

const tsconfigShape = z.object({ compilerOptions: z.record(z.string(), z.unknown()) });

/** Options that TypeScript refuses together with CommonJS, or when it writes its output. */
const onlyNative = ["allowImportingTsExtensions", "noEmit", "erasableSyntaxOnly", "verbatimModuleSyntax", "module", "moduleResolution"];

/**
 * Writes a copy of the program that Pulumi's default start can load. The ts-node inside the SDK (7.0.1) hooks `require` and knows no ES modules,
 * and this program is made of them: the copy is the same code with CommonJS imports, and its types are checked by this project's compiler.
 *
 * @param root folder of this project.
 * @param folder an empty folder for the copy.
 */
export function commonJsCopy(root: string, folder: string): void {
  for (const part of ["index.ts", "components", "stacks"]) cpSync(path.join(root, part), path.join(folder, part), { recursive: true });
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
}
