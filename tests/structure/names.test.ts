import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";

const root = path.join(import.meta.dirname, "../../");
const folders = ["components", "plan", "check", "rehearsal", "cli", "examples/ci", "stacks"];

/** A cloud's own: files and folders of its name, its facts, its fakes. */
const isOwn = (file: string): boolean =>
  /(^|\/)(aws|azure)[^/]*(\/|\.ts$)|^(components\/model\/cloudFacts|plan\/fakes|rehearsal\/clouds)\//.test(file);

/** Other files whose code names a cloud, each with its reason. One that is gone fails too. */
const choosing: Readonly<Record<string, string>> = {
  "check/account/ask.ts": "only the SDK of the chosen cloud is loaded",
  "components/gates/account/start.ts": "only the SDK of the chosen cloud is loaded",
  "check/facts.ts": "expected values are not the program's",
  "examples/ci/index.ts": "only the SDK of the chosen cloud is loaded",
  "cli/down.ts": "commands of two clouds, as they are shown",
  "cli/init/fromCloud.ts": "commands of two clouds",
  "cli/up/evidence.ts": "commands of two clouds",
  "cli/up/places.ts": "commands of two clouds, as they are shown",
  "cli/image/builders.ts": "builders of two clouds",
  "components/kubernetes/addOns/autoscaler.ts": "flags of one program on two clouds",
  "components/kubernetes/addOns/cloudController.ts": "two programs",
  "components/kubernetes/addOns/gmsa.ts": "what two plug-ins read",
  "components/kubernetes/addOns/volumes.ts": "two drivers",
  "components/machine/cloudAccess.ts": "the one place that tells two kinds of access apart",
  "components/machine/windows/userData.ts": "two agents that run it",
  "plan/replacement/table.ts": "rows of two providers",
  "plan/report/rules/content.ts": "the speed of one cloud's disks follows their size",
  "plan/report/access.ts": "two evaluators of rights",
  "rehearsal/machines/windowsNode.ts": "what a script does, done again",
  "stacks/program.ts": "only the SDK of the chosen cloud is loaded",
};

/**
 * Names of a cloud in code: `aws` as a text, in a path of an import or within a name. Those of the pod network and of
 * Azure's log service are settings, and those of types, images and hosts are others'.
 */
function namesIn(text: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const isName =
      (ts.isIdentifier(node) &&
        /^(aws|azure)($|[A-Z])|Aws|Azure/.test(node.text) &&
        !/[aA]zure(Cni|Monitor)|inflateRaw/.test(node.text)) ||
      (ts.isStringLiteralLike(node) && /^(aws|azure)$|^\.{1,2}\/(?!.*azureCni).*(aws|azure)/i.test(node.text));
    if (isName) found.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("x.ts", text, ts.ScriptTarget.Latest, true));
  return found;
}

describe("the name of a cloud", () => {
  it("stands in the cloud's own code, and in at most twenty files that choose", () => {
    const named = [...folders, "tools"]
      .flatMap((folder) =>
        readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
          path.posix.join(folder, name),
        ),
      )
      .filter((file) => file.endsWith(".ts") && !isOwn(file))
      .filter((file) => namesIn(readFileSync(path.join(root, file), "utf8")).length > 0);
    assert.deepEqual(named.sort(), Object.keys(choosing).sort());
    assert.ok(named.length <= 20);
  });
});
