import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

// Prints the share of lines that ran, by folder of components/, of what a run with NODE_V8_COVERAGE=FOLDER left there.
const [folder = ""] = process.argv.slice(2);
const root = path.join(import.meta.dirname, "../../");

interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
  }[];
}

const ran = new Map<string, Set<number>>();
for (const name of globSync("*.json", { cwd: folder })) {
  const { result }: { readonly result: readonly Script[] } = JSON.parse(readFileSync(path.join(folder, name), "utf8"));
  for (const { url, functions } of result) {
    const file = url.startsWith("file:") ? path.relative(root, fileURLToPath(url)) : "";
    if (!file.startsWith("components/")) continue;
    const text = readFileSync(path.join(root, file), "utf8");
    const counts = new Int32Array(text.length);
    // Inner ranges come after those around them.
    for (const { ranges } of functions)
      for (const { startOffset, endOffset, count } of ranges) counts.fill(count, startOffset, endOffset);
    const lines = ran.get(file) ?? new Set();
    ran.set(file, lines);
    let at = 0;
    for (const [number, line] of text.split("\n").entries()) {
      if (/\S/.test(line) && counts[at + line.search(/\S/)] !== 0) lines.add(number);
      at += line.length + 1;
    }
  }
}
const files = globSync("components/**/*.ts", { cwd: root });
const groups = Map.groupBy(files, (file) => file.split("/").slice(0, -1).join("/"));
for (const [name, members] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const all = members.flatMap((file) =>
    readFileSync(path.join(root, file), "utf8")
      .split("\n")
      .filter((line) => /\S/.test(line)),
  );
  const seen = members.reduce((sum, file) => sum + (ran.get(file)?.size ?? 0), 0);
  console.log(`${name}: ${((100 * seen) / all.length).toFixed(1)}`);
}
