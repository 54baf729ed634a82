import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { configurationMarkdown } from "../../cli/schema.ts";
import { awsOwners } from "../../components/aws/owners.ts";
import { azureOwners } from "../../components/azure/owners.ts";
import { configJsonSchema } from "../../components/config/jsonSchema.ts";
import { insteadOf } from "../../components/config/remedies.ts";
import { transformsFile } from "../../components/config/stackFile.ts";
import { pageSchema } from "../../components/gates/machinesPage.ts";
import { alerts } from "../support/alerts.ts";
import { matchSnapshot } from "../support/snapshot.ts";
import { leavesOf } from "../support/stacks.ts";
import { anchors, type Document, documents, readDocument, root } from "./documents.ts";

const all = documents();

function linkProblem(document: Document, target: string): string | undefined {
  const [file = "", anchor] = target.split("#");
  const wanted = file === "" ? document.file : path.join(path.dirname(document.file), file);
  if (!existsSync(path.join(root, wanted))) return `${document.file}: ${target} does not exist`;
  if (anchor === undefined) return undefined;
  const other = wanted === document.file ? document : readDocument(wanted);
  return anchors(other).has(anchor) ? undefined : `${document.file}: ${target} has no such heading`;
}

const folders = readdirSync(root, { withFileTypes: true }).flatMap((each) =>
  each.isDirectory() && !/^\.|node_modules/.test(each.name) ? [each.name] : [],
);
/** Those that were once. */
const gone = ["bench", "checks", "ci", "preflight", "verify"];

/** Paths that a document names as code, such as `components/aws/pool.ts`. */
function namedPaths({ prose }: Document) {
  const below = [...folders, ...gone].join("|");
  const named = new RegExp(`\`((?:${below})/[\\w./*-]+|[\\w-]+\\.(?:ts|sh|ps1))\``, "g");
  return [...prose.matchAll(named)].map(([, name = ""]) => name);
}

/** Whether a path is there: from the root, or, for a bare name, of any file of the project. */
function isThere(name: string) {
  // A user has it, or not.
  if (name === transformsFile) return true;
  if (name.includes("/")) return existsSync(path.join(root, name.replace(/\/\*.*$/, "")));
  return globSync(`{*,{${folders.join()}}/**/}${name}`, { cwd: root }).length > 0;
}

describe("documents and their links", () => {
  it("lead somewhere, headings included", () => {
    const links = all.flatMap((document) =>
      [...document.prose.matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)].map(([, target = ""]) => ({ document, target })),
    );
    // The samples in stacks/ are the users' to change and delete.
    const relative = links.filter(({ target }) => !/^[a-z]+:|^(?:\.\.\/)*stacks\/Pulumi\./.test(target));
    assert.ok(relative.length > 50, `${relative.length} relative links`);
    assert.deepEqual(
      relative.map(({ document, target }) => linkProblem(document, target)).filter((problem) => problem !== undefined),
      [],
    );
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
    // What a release once had may be gone.
    const named = all
      .filter(({ file }) => file !== "CHANGES.md")
      .flatMap((document) => namedPaths(document).map((name) => `${document.file}: ${name}`));
    assert.ok(named.length > 15, `${named.length} names`);
    assert.deepEqual(
      named.filter((entry) => !isThere(entry.split(": ")[1] ?? "")),
      [],
    );
  });
});

/** Names of settings at every level: `pools`, `kubelet`, `maxPods`. */
const names = new Set(
  leavesOf(configJsonSchema())
    .map(([name]) => name)
    .flatMap((leaf) => leaf.split(/[.[\]*]+/)),
);

/** Names of others: Kubernetes (claims, Services), Entra ID (applications), a function of cloud-provider-aws. */
const foreign = ["dataSource", "isNLB", "requestedAccessTokenVersion", "sessionAffinity", "trafficDistribution"];

describe("sentences of the documentation", () => {
  it("name no setting that has gone", () => {
    const gone = Object.keys(insteadOf)
      .map((setting) => setting.split(".").at(-1) ?? "")
      .filter((name) => !names.has(name));
    assert.ok(gone.includes("spotMaxPrice"), gone.join(" "));
    assert.deepEqual(
      documents()
        .filter(({ file }) => !/^CHANGES|^docs\/adr/.test(file))
        .flatMap(({ file, prose }) =>
          gone.filter((name) => prose.includes(`\`${name}\``)).map((name) => `${file}: ${name}`),
        ),
      [],
    );
  });

  it("name nothing in camel case that neither the schema nor a file of the project has", () => {
    const files = execFileSync("git", ["ls-files", "--", ":!*.md", ":!package-lock.json"], {
      cwd: root,
      encoding: "utf8",
    });
    const known = new Set(
      files
        .trim()
        .split("\n")
        .flatMap((file) => readFileSync(path.join(root, file), "utf8").match(/[A-Za-z]\w*/g) ?? []),
    );
    const words = documents()
      .filter(({ file }) => !/^CHANGES|^docs\/adr/.test(file))
      .flatMap(({ file, prose }) =>
        [...prose.matchAll(/`([a-z]+[A-Z]\w*)`/g)].map(([, word = ""]) => ({ file, word })),
      );
    assert.ok(words.length > 50, String(words.length));
    assert.deepEqual(
      words
        .filter(({ word }) => !known.has(word) && !foreign.includes(word))
        .map(({ file, word }) => `${file}: ${word}`),
      [],
    );
  });
});

const textOf = (file: string) => readFileSync(path.join(root, file), "utf8");

describe("the table of what Windows does differently", () => {
  it("has a row for each exception that checks and samples make, and names none that they do not", () => {
    const made = globSync(["check/**/*.ts", "components/kubernetes/samples/*.yaml"], { cwd: root })
      .flatMap((file) => [...textOf(file).matchAll(/Windows row: ([a-z-]+)/g)])
      .map(([, id = ""]) => id);
    const [, table = ""] = textOf("docs/windows-applications.md").split("## What Windows does differently");
    const named = [...(table.split("\n## ")[0] ?? "").matchAll(/^\| `((?![a-z-]*windows)[a-z-]+)` \|/gm)].map(
      ([, id = ""]) => id,
    );
    assert.deepEqual(named.toSorted(), [...new Set(made)].toSorted());
    assert.ok(named.length > 0);
  });
});

/** Rows of a Markdown table under its head. Bars in cells are escaped. */
function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]) {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line), ""].join("\n");
}

/** Rows that differ in the given columns alone become one, with all values of these columns. */
function mergedRows(
  rows: readonly (readonly string[])[],
  columns: readonly number[],
  separator = ", ",
): readonly (readonly string[])[] {
  const groups = Map.groupBy(rows, (row) =>
    row.map((cell, column) => (columns.includes(column) ? "" : cell)).join("\n"),
  );
  return [...groups.values()].map(([first = [], ...others]) =>
    first.map((cell, column) =>
      columns.includes(column) ? [cell, ...others.map((row) => row[column])].join(separator) : cell,
    ),
  );
}

/**
 * The entries of single settings, each below a heading of its own, to which others can link.
 *
 * @param reference what `fenestra schema --markdown` prints
 */
function settingsList(reference: string, paths: readonly string[]) {
  return paths
    .map((path) => {
      const start = `- \`${path}\` (`;
      const line = reference.split("\n").find((each) => each.startsWith(start));
      if (line === undefined) throw new RangeError(`there is no setting ${path}`);
      return `### \`${path}\`\n\n${line.slice(start.length - 1)}\n`;
    })
    .join("\n");
}

/** Inputs to which others add. */
function ownersTable() {
  const rows = Object.entries({ aws: awsOwners, "azure-native": azureOwners }).flatMap(([provider, table]) =>
    Object.entries(table).flatMap(([type, { contested = {}, shared = {} }]) => {
      const row = (input: string, others: string, then: string) => [type.replace("*", provider), input, others, then];
      return [
        ...Object.entries(contested).map(([input, others]) =>
          row(input, others, `taken off${input === "tags" ? ", but for `ignoreTags`" : ""}`),
        ),
        ...Object.entries(shared).map(([input, { others }]) => row(input, others, "stays")),
      ];
    }),
  );
  return markdownTable(["Type", "Input", "Who adds", "What they add"], mergedRows(rows, [1]));
}

const machineLists = z.object({
  properties: z.object({
    pools: z.object({ additionalProperties: z.object({ properties: z.record(z.string(), z.unknown()) }) }),
  }),
});
const machineList = z.object({ shown: z.string(), description: z.string() });

/** Why a machine is not well, by the page that the node controller writes. */
function machinesTable(schema: unknown) {
  const { properties } = machineLists.parse(schema).properties.pools.additionalProperties;
  const rows = Object.entries(properties).flatMap(([name, form]) => {
    const { data } = machineList.safeParse(form);
    return data === undefined ? [] : [[`\`${name}\``, data.shown, data.description]];
  });
  return markdownTable(["List", "What `status` says of its machines", "When a machine is in it"], rows);
}

/** A document with its generated parts replaced: what is between `<!-- generated: NAME -->` and `<!-- end -->`. */
function fillGenerated(document: string, parts: Readonly<Record<string, string>>) {
  const found = new Set<string>();
  const filled = document.replaceAll(/<!-- generated: ([\w-]+) -->\n[\s\S]*?<!-- end -->/g, (_, name: string) => {
    const text = parts[name];
    if (text === undefined) throw new RangeError(`nobody makes the generated part ${name}`);
    found.add(name);
    return `<!-- generated: ${name} -->\n\n${text}\n<!-- end -->`;
  });
  const missing = Object.keys(parts).filter((name) => !found.has(name));
  if (missing.length > 0) throw new RangeError(`the document has no place for ${missing.join(", ")}`);
  return filled;
}

const mostChanged = [
  ...["cloud", "name", "region", "accountId", "environment", "kubernetes.version", "tags"],
  ...["network.zones", "network.cidr", "network.nat", "controlPlane.replicas", "controlPlane.size"],
  ...["pools[].name", "pools[].os", "pools[].size", "pools[].count", "pools[].autoscale"],
  ...["access.public.allow", "access.signIn", "addons.logs"],
];

/** Compares the generated parts of a document, or writes them. */
function matchGenerated(file: string, parts: Readonly<Record<string, string>>) {
  matchSnapshot(path.join(root, file), fillGenerated(readDocument(file).text, parts));
}

describe("generated parts of the documentation", () => {
  it("configuration.md has the settings that most stacks change, as the schema has them", () => {
    matchGenerated("docs/configuration.md", {
      settings: settingsList(configurationMarkdown(configJsonSchema()), mostChanged),
    });
  });

  it("debugging.md and the node controller's tests: the page of machines, as who reads it has it", () => {
    const schema = z.toJSONSchema(pageSchema, { io: "input" });
    matchSnapshot(
      path.join(root, "components/nodeController/page.schema.json"),
      `${JSON.stringify(schema, null, 2)}\n`,
    );
    matchGenerated("docs/operations/debugging.md", { machines: machinesTable(schema) });
  });

  it("platform.md: whose inputs are", () => {
    matchGenerated("docs/platform.md", { owners: ownersTable() });
  });
});
