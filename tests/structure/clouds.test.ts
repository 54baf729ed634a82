import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folders = ["components", "plan", "checks", "verify", "rehearsal", "cli", "ci", "stacks", "tools"];

/** Where a cloud is known by its name: its components, its facts, its fakes. */
const own = ["components/aws", "components/azure", "components/model/cloudFacts", "plan/fakes", "rehearsal/clouds"];

/** Comparisons with a cloud's name elsewhere, each with its reason. One that is gone fails too. */
const comparisons: Readonly<Record<string, string>> = {
  "components/config/rules/stack.ts": "tag keys of one cloud know no case",
  "components/kubernetes/addOns/autoscaler.ts": "flags of one program on two clouds",
  "components/kubernetes/addOns/cloudController.ts": "two programs",
  "components/kubernetes/addOns/gmsa.ts": "what two plug-ins read",
  "components/kubernetes/addOns/storage.ts": "two drivers",
  "components/machine/cloudAccess.ts": "the one place that tells two kinds of access apart",
  "plan/report/page/access.ts": "two evaluators of rights",
  "rehearsal/machines/windowsNode.ts": "what a script does, done again",
  "verify/checks/outside.ts": "expected values are not the program's",
};

/** Choices by a table of both clouds, as `{ aws: ..., azure: ... }`. */
const tables: Readonly<Record<string, string>> = {
  "checks/facts.ts": "expected values",
  "cli/preflight.ts": "only the SDK of the chosen cloud is loaded",
  "ci/index.ts": "only the SDK of the chosen cloud is loaded",
  "components/config/rules/placement.ts": "forms of ids",
  "components/machine/credentialProvider.ts": "two kinds of access",
  "components/machine/linux/controlPlane.ts": "two kinds of access",
  "components/machine/linux/machineEnv.ts": "two kinds of access",
  "components/machine/windows/worker.ts": "two kinds of access",
  "components/model/ccgPlugin.ts": "two plug-ins",
  "components/model/registryAccess.ts": "two plug-ins",
  "components/model/workloadIdentity.ts": "variables of two SDKs",
  "rehearsal/checks/identity.ts": "two stores",
  "stacks/program.ts": "only the SDK of the chosen cloud is loaded",
};

const isCloud = (node: ts.Node): boolean => ts.isStringLiteralLike(node) && /^(aws|azure)$/.test(node.text);
const equality = [ts.SyntaxKind.EqualsEqualsEqualsToken, ts.SyntaxKind.ExclamationEqualsEqualsToken];

/** How often a text compares with a cloud's name, and how many objects have a property for each cloud. */
function counts(text: string): { comparisons: number; tables: number } {
  const found = { comparisons: 0, tables: 0 };
  const visit = (node: ts.Node): void => {
    if (
      ts.isBinaryExpression(node) &&
      equality.includes(node.operatorToken.kind) &&
      [node.left, node.right].some(isCloud)
    )
      found.comparisons += 1;
    if (ts.isCaseClause(node) && isCloud(node.expression)) found.comparisons += 1;
    if (ts.isObjectLiteralExpression(node)) {
      const names = node.properties.map(({ name }) => name?.getText().replaceAll('"', ""));
      if (names.includes("aws") && names.includes("azure")) found.tables += 1;
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("x.ts", text, ts.ScriptTarget.Latest, true));
  return found;
}

describe("the name of a cloud", () => {
  const found = folders
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
        path.posix.join(folder, name),
      ),
    )
    .filter((file) => file.endsWith(".ts") && !own.some((place) => file.startsWith(`${place}/`)))
    .map((file) => ({ file, ...counts(readFileSync(path.join(root, file), "utf8")) }));

  it("is compared in at most ten places outside of the cloud's own files", () => {
    const places = found.flatMap(({ file, comparisons: times }) => Array<string>(times).fill(file));
    assert.deepEqual(places.sort(), Object.keys(comparisons).sort());
    assert.ok(places.length <= 10);
  });

  it("chooses from no table but these", () => {
    assert.deepEqual(
      found.flatMap(({ file, tables: many }) => (many > 0 ? [file] : [])).sort(),
      Object.keys(tables).sort(),
    );
  });

  it("is seen in comparisons, cases and tables", () => {
    const text =
      'a === "aws"; "azure" !== b; switch (c) { case "aws": } ({ aws: 1, "azure": 2 })[d]; e("aws"); ({ aws: 1 }); // f === "aws"';
    assert.deepEqual(counts(text), { comparisons: 3, tables: 1 });
  });
});
