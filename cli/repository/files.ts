import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse, stringify } from "yaml";
import { UsageError } from "../exit.ts";
import { git } from "../gitBase.ts";

/** By path. */
export type Files = Readonly<Record<string, string>>;

/** As a repository pins the program. */
export interface Pinned {
  /** `OWNER/NAME` on GitHub, whose workflows are called. */
  readonly repository: string | undefined;
  readonly commit: string;
  /** `v1.2.3`, if the commit has one. */
  readonly tag: string | undefined;
}

/** Workflows for repositories to call. */
const callable = ["preview", "deploy", "drift"];

type Rights = Readonly<Record<string, string>>;
interface Workflow {
  readonly on: { readonly workflow_call: { readonly inputs: Readonly<Record<string, { readonly default?: string }>> } };
  readonly permissions: Rights;
  readonly jobs: Readonly<Record<string, { readonly permissions?: Rights }>>;
}

/** Upon the same events, with all its jobs' rights. */
function caller(name: string, text: string, program: string, pinned: Pinned): string {
  const { on, permissions, jobs }: Workflow = parse(text);
  const { workflow_call: called, ...events } = on;
  const rights = [permissions, ...Object.values(jobs).map((job) => job.permissions ?? {})].flatMap((some) =>
    Object.entries(some),
  );
  const inputs = Object.entries(called.inputs).map(([key, { default: other }]) => [
    key,
    `\${{ inputs.${key} || '${other}' }}`,
  ]);
  const job = {
    // Sorted, one job's "write" wins over another's "read".
    permissions: Object.fromEntries(rights.toSorted()),
    uses: `${pinned.repository}/.github/workflows/${name}.yml@main`,
    with: { ...Object.fromEntries(inputs), program },
  };
  return withVersion(stringify({ name, on: events, jobs: { [name]: job } }, { lineWidth: 0, nullStr: "" }), pinned);
}

/** A line that calls such a workflow, up to the version. */
const usesLine = new RegExp(`(uses: (\\S+)/\\.github/workflows/(?:${callable.join("|")})\\.yml@)\\S+(?: # \\S+)?`, "g");

/** With its calls of this program's workflows at a version. */
export function withVersion(text: string, { commit, tag }: Pinned): string {
  return text.replaceAll(usesLine, (_, before: string) => `${before}${commit}${tag === undefined ? "" : ` # ${tag}`}`);
}

/** All but the stack files. @param program its folder in the repository @param from its folder now */
export function repositoryFiles(program: string, from: string, pinned: Pinned): Files {
  const own = (file: string) => readFileSync(path.join(from, file), "utf8");
  return {
    "Pulumi.yaml": projectIn(own("Pulumi.yaml"), program),
    "ci/Pulumi.yaml": projectIn(own("examples/ci/Pulumi.yaml"), program),
    ...Object.fromEntries(
      ["ci/Pulumi.aws.yaml", "ci/Pulumi.azure.yaml"].map((file) => [file, setupIn(own(`examples/${file}`))]),
    ),
    ".gitignore": "/out/\n",
    "README.md": `# Clusters

Stack files for [Fenestra](${program}/README.md), which is pinned in \`${program}\`: [how this repository works](${program}/docs/repository.md).

\`\`\`sh
git submodule update --init
npm ci --prefix ${program} --omit=dev
${program}/cli/fenestra stacks
\`\`\`
`,
    ...(pinned.repository !== undefined && {
      ...Object.fromEntries(
        callable.map((name) => {
          const file = `.github/workflows/${name}.yml`;
          return [file, caller(name, own(file), program, pinned)];
        }),
      ),
      ".github/CODEOWNERS": `# Whoever changes these changes what runs with rights in the cloud. Put your teams here.
/${program} @OWNER/platform
/.gitmodules @OWNER/platform
/.github @OWNER/platform
/ci @OWNER/platform
/stacks/Pulumi.*-prod.yaml @OWNER/platform
`,
      ".github/dependabot.yml": `# One pull request for a new release: the submodule and the workflows that are called are of one version.
version: 2
multi-ecosystem-groups:
  fenestra:
    schedule: { interval: weekly }
updates:
  - { package-ecosystem: gitsubmodule, directory: /, patterns: ["*"], multi-ecosystem-group: fenestra }
  - { package-ecosystem: github-actions, directory: /, patterns: ["*"], multi-ecosystem-group: fenestra }
`,
    }),
  };
}

/** Its `main` is in the program's folder, or its folder `ci`. */
function projectIn(text: string, program: string): string {
  return text.replace(/^main: index\.ts$/m, () =>
    text.includes("stackConfigDir") ? `main: ${program}/index.ts` : `main: ../${program}/examples/ci/index.ts`,
  );
}

/** Config of the folder `ci`: the stack files are where they are looked for. */
function setupIn(text: string): string {
  return text.replace(/\n *# Seen from[^\n]*\n *fenestra-ci:stackDir: \.\.\/stacks\n/, "\n");
}

/** Writes only the files that are missing; says what became of each. */
export function writeFiles(root: string, files: Files): readonly string[] {
  mkdirSync(path.join(root, "stacks"), { recursive: true });
  return Object.entries(files).map(([name, text]) => {
    const file = path.join(root, name);
    if (existsSync(file)) return `${name} was there and is left as it is`;
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    return `${name} is made`;
  });
}

/**
 * @param named repository whose workflows are called. Default: the origin, where it is on GitHub
 * @throws UsageError where that is none
 */
export function pinnedIn(folder: string, named?: string): Pinned {
  if (named !== undefined && !/^[\w.-]+\/[\w.-]+$/.test(named))
    throw new UsageError(`--workflows ${named} is no repository of GitHub; allowed: OWNER/NAME`);
  const [, repository] =
    /^origin\t\S*github\.com[/:]([^/]+\/[^/]+?)(?:\.git)?\/? /m.exec(git(folder, ["remote", "--verbose"])) ?? [];
  const tags = git(folder, ["tag", "--points-at", "HEAD"]).split("\n").filter(isRelease);
  return { repository: named ?? repository, commit: git(folder, ["rev-parse", "HEAD"]).trim(), tag: tags[0] };
}

export function isRelease(tag: string): boolean {
  return /^v\d+\.\d+\.\d+$/.test(tag);
}
