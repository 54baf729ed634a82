import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";

const root = path.join(import.meta.dirname, "../../");

/** Folders of the rehearsal: each may import those before it. */
const rehearsal = ["host", "api", "programs", "machines", "clouds", "cluster", "checks", "run"].map(
  (name) => `rehearsal/${name}`,
);

/** Words of others. */
const messages = "components/model/messages.ts";

/**
 * Folders of the repository, and which of them each may import (docs/architecture.md). The longest matching name
 * counts.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  "index.ts": ["components/config", "components/model", "stacks"],
  stacks: ["components", "stacks"],
  "components/aws": ["components"],
  "components/azure": ["components"],
  "components/kubernetes": ["components/kubernetes", "components/gates", "components/machine", "components/model"],
  "components/gates": ["components/gates", "components/pki", "components/model"],
  "components/pki": ["components/pki", "components/model"],
  "components/machine": ["components/machine", "components/config", "components/model"],
  "components/config": ["components/config", "components/model"],
  "components/model": ["components/model", "components/config", "versions.json"],
  "components/model/clusterSpec.ts": ["components/model", "components/config", "components/podNetworks/podNetworks.ts"],
  "components/podNetworks": [
    "components/podNetworks",
    "components/kubernetes",
    "components/machine",
    "components/model",
  ],
  "examples/ci": ["examples/ci", "components"],
  examples: ["examples", "components"],
  plan: ["plan", "components"],
  "plan/diff": [
    "plan/diff",
    "plan/replacement",
    "plan/plan.ts",
    "plan/program/recorded.ts",
    "plan/finding.ts",
    "plan/billed.ts",
    "components",
  ],
  check: ["check", "components/gates/poll.ts", messages],
  "check/cluster": ["check", "components"],
  "check/account": ["check", "plan", "components"],
  ...Object.fromEntries(
    rehearsal.map((name, level) => [name, [...rehearsal.slice(0, level + 1), "plan", "check", "components"]]),
  ),
  cli: ["cli", "package.json", "components", "plan", "rehearsal", "check"],
};

/** Who hands a pod network on; everyone else gets a value. */
const choosers = ["components/model/clusterSpec.ts", "stacks", "check/cluster/checkList.ts"];

/** Folders that are plain data and functions: no provider's SDK, no Pulumi at all. */
const pure = ["components/config", "components/model", "components/machine", "components/podNetworks"];

interface Import {
  readonly from: string;
  /** File in the repository, or name of a package. */
  readonly to: string;
  readonly isPackage: boolean;
}

function sourceFiles(folder: string) {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => path.join(folder, name));
}

/** Every import of a file, of types too; dynamic ones with a literal included. */
function importsOf(file: string): readonly Import[] {
  return ts
    .preProcessFile(readFileSync(path.join(root, file), "utf8"), true, true)
    .importedFiles.map(({ fileName }) => {
      const isPackage = !fileName.startsWith(".");
      return { from: file, to: isPackage ? fileName : path.join(path.dirname(file), fileName), isPackage };
    });
}

/** Folders that write expected values out. Of the program they import types, and what is only calculated. */
const judges = ["check", "rehearsal/checks"];
const judged = ["components/kubernetes", "components/machine", "components/model", "components/podNetworks"];
/** What they import all the same, with the reason. */
const known: Readonly<Record<string, string>> = {
  "check/cluster/checkList.ts: components/model/cidr.ts":
    "a cluster whose nodes tell no network has the default's limits",
  "check/cluster/checkList.ts: components/podNetworks/podNetworks.ts":
    "what is known not to work in a network, and where to look",
  "check/cluster/nodes.ts: components/model/operatingSystems.ts":
    "names builds; which one a node must have is not judged by it",
  "check/cluster/probePods.ts: components/kubernetes/images.ts":
    "images to use, which the mirror has: none is expected of a cluster",
  "check/cluster/volumes.ts: components/model/allocatable.ts": "the number that an amount of Kubernetes stands for",
  "rehearsal/checks/objects.ts: components/model/allocatable.ts": "arithmetic",
};

/** Files whose values, not types alone, a file imports. */
function valuesOf(file: string) {
  return ts
    .createSourceFile(file, readFileSync(path.join(root, file), "utf8"), ts.ScriptTarget.Latest)
    .statements.filter(ts.isImportDeclaration)
    .filter(({ importClause }) => importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword)
    .flatMap(({ moduleSpecifier }) =>
      ts.isStringLiteral(moduleSpecifier) ? path.join(path.dirname(file), moduleSpecifier.text) : [],
    );
}

const folders = new Set(Object.keys(allowed).map((place) => place.split("/")[0] ?? ""));
folders.delete("index.ts");
const imports = ["index.ts", ...[...folders].flatMap(sourceFiles)].flatMap(importsOf);

const inside = (file: string, place: string) => file === place || file.startsWith(`${place}/`);

function ruleOf(file: string) {
  const rule = Object.entries(allowed)
    .filter(([place]) => inside(file, place))
    .sort(([a], [b]) => b.length - a.length)[0];
  return rule?.[1] ?? [];
}

// Cycles, of types too, are Biome's matter.
describe("imports", () => {
  const local = imports.filter(({ isPackage }) => !isPackage);

  it("go one way", () => {
    assert.deepEqual(
      local
        .filter(({ from, to }) => !ruleOf(from).some((place) => inside(to, place)))
        .map(({ from, to }) => `${from} imports ${to}`),
      [],
    );
  });

  it("reach a pod network by the one place that chooses it", () => {
    const networks = "components/podNetworks";
    const entries = ["podNetworks.ts", "manifests.ts"].map((name) => `${networks}/${name}`);
    const wrong = local
      .filter(({ from, to }) => inside(to, networks) && !inside(from, networks))
      .filter(({ from, to }) => !entries.includes(to) || !choosers.some((place) => inside(from, place)));
    const across = local.filter(({ from, to }) => {
      const [a, b] = [path.dirname(from), path.dirname(to)];
      return inside(a, networks) && inside(b, networks) && ![a, networks].includes(b) && a !== networks;
    });
    assert.deepEqual([...wrong, ...across], []);
  });

  it("give no check an expected value of the program", () => {
    assert.deepEqual(
      judges
        .flatMap(sourceFiles)
        .filter((file) => !inside(file, "check/account"))
        .flatMap((file) => valuesOf(file).map((to) => ({ file, to })))
        .filter(({ to }) => to !== messages && judged.some((place) => inside(to, place)))
        .map(({ file, to }) => `${file}: ${to}`)
        .sort(),
      Object.keys(known),
    );
  });

  it("of the program need no package that jobs with rights leave out", () => {
    const { dependencies }: { readonly dependencies: object } = JSON.parse(
      readFileSync(path.join(root, "package.json"), "utf8"),
    );
    const packages = imports.filter(
      ({ from, isPackage }) => isPackage && ["components", "index.ts", "stacks"].some((place) => inside(from, place)),
    );
    const names = new Set(
      packages.map(({ to }) => /^(?:@[^/]+\/)?[^/]+/.exec(to)?.[0] ?? to).filter((name) => !name.startsWith("node:")),
    );
    assert.deepEqual(
      [...names].filter((name) => !(name in dependencies)),
      [],
    );
    assert.ok(names.size > 5);
  });

  it("load no cloud's SDK for a plan, a preview or an update, but when it is asked", () => {
    const loaded = new Set(["cli/plan.ts", "index.ts", "stacks/aws.ts", "stacks/azure.ts"]);
    for (const file of loaded) if (existsSync(path.join(root, file))) for (const to of valuesOf(file)) loaded.add(to);
    assert.ok(loaded.size > 200);
    assert.deepEqual(
      [...loaded].filter((file) => /\/@(aws-sdk|azure)\//.test(file)),
      [],
    );
  });

  it("of pure folders name no Pulumi package", () => {
    assert.deepEqual(
      imports.filter(
        ({ from, to, isPackage }) =>
          isPackage && to.startsWith("@pulumi/") && pure.some((place) => inside(from, place)),
      ),
      [],
    );
  });
});
