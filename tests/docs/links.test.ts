import assert from "node:assert/strict";
import { existsSync, globSync } from "node:fs";
import path from "node:path";
import { transformsFile } from "../../components/config/stackFile.ts";
import { alerts } from "../support/alerts.ts";
import { anchors, type Document, documents, readDocument, root } from "./documents.ts";

const all = documents();
const linkPattern = /\[[^\]]*\]\(([^)\s]+)\)/g;

function linkProblem(document: Document, target: string): string | undefined {
  const [file = "", anchor] = target.split("#");
  const wanted = file === "" ? document.file : path.join(path.dirname(document.file), file);
  if (!existsSync(path.join(root, wanted))) return `${document.file}: ${target} does not exist`;
  if (anchor === undefined) return undefined;
  const other = wanted === document.file ? document : readDocument(wanted);
  return anchors(other).has(anchor) ? undefined : `${document.file}: ${target} has no such heading`;
}

/** Paths that a document names as code, such as `components/aws/pool.ts`. */
function namedPaths({ prose }: Document): readonly string[] {
  return [
    ...prose.matchAll(
      /`((?:components|plan|verify|cli|ci|stacks|rehearsal|tests|tools|docs)\/[\w./*-]+|[\w-]+\.(?:ts|sh|ps1))`/g,
    ),
  ].map(([, name = ""]) => name);
}

/** Whether a path is there: from the root, or, for a bare name, of any file of the project. */
function isThere(name: string): boolean {
  // A user has it, or not.
  if (name === transformsFile) return true;
  if (name.includes("/")) return existsSync(path.join(root, name.replace(/\/\*.*$/, "")));
  return globSync(`{*,{components,plan,verify,cli,ci,stacks,rehearsal,tests}/**/}${name}`, { cwd: root }).length > 0;
}

describe("documents and their links", () => {
  it("are looked for in every kind of document, decisions by numbers of their own", () => {
    const files = all.map(({ file }) => file);
    for (const file of ["README.md", "CHANGES.md", "docs/aws.md", "docs/operations/keys.md"])
      assert.ok(files.includes(file), file);
    const numbers = files.flatMap((file) => /^docs\/adr\/(\d+)-/.exec(file)?.[1] ?? []);
    assert.deepEqual(numbers, [...new Set(numbers)]);
  });

  it("are short where everybody begins, and in decisions", () => {
    const words = ({ text }: Document): number => text.trim().split(/\s+/).length;
    const most = ({ file }: Document): number =>
      file === "README.md" ? 1200 : file.startsWith("docs/adr/") ? 100 : Number.POSITIVE_INFINITY;
    const long = all.filter((each) => words(each) > most(each));
    assert.deepEqual(
      long.map((each) => `${each.file}: ${words(each)} words, at most ${most(each)}`),
      [],
    );
  });

  it("lead somewhere, headings included", () => {
    const links = all.flatMap((document) =>
      [...document.prose.matchAll(linkPattern)].map(([, target = ""]) => ({ document, target })),
    );
    // The samples in stacks/ are the users' to change and delete.
    const relative = links.filter(({ target }) => !/^[a-z]+:|^(?:\.\.\/)*stacks\/Pulumi\./.test(target));
    assert.ok(relative.length > 50, `${relative.length} relative links`);
    const problems = relative
      .map(({ document, target }) => linkProblem(document, target))
      .filter((problem) => problem !== undefined);
    assert.deepEqual(problems, []);
  });

  it("lead from each alert to what ends it", () => {
    const readme = readDocument("README.md");
    assert.ok(alerts.length > 10);
    assert.deepEqual(
      alerts.flatMap(({ annotations }) => linkProblem(readme, annotations.runbook ?? "none") ?? []),
      [],
    );
  });

  it("name only files that exist", () => {
    const named = all.flatMap((document) => namedPaths(document).map((name) => `${document.file}: ${name}`));
    assert.ok(named.length > 15, `${named.length} names`);
    const gone = named.filter((entry) => !isThere(entry.split(": ")[1] ?? ""));
    assert.deepEqual(gone, []);
  });

  it("draw the tree of the architecture as it is", () => {
    const tree = readDocument("docs/architecture.md").blocks.find(({ text }) => text.startsWith("index.ts "));
    const entries = [...(tree?.text ?? "").matchAll(/^( *)((?:[\w.]+\/? )+)/gm)].flatMap(
      ([, indent = "", names = ""]) =>
        names
          .trim()
          .split(" ")
          .filter((name) => (indent.length > 0 ? name.endsWith("/") : /\/$|\.ts$/.test(name)))
          .map((name) => (indent.length === 0 ? name : `components/${name}`)),
    );
    assert.ok(entries.length >= 15, entries.join(" "));
    const missing = entries.filter((entry) => !existsSync(path.join(root, entry)));
    assert.deepEqual(missing, []);
  });
});
