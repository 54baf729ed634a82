import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { git } from "../gitBase.ts";

/** A file of a user's repository, by its path in it. */
export type Files = Readonly<Record<string, string>>;

/** A version of the program as a repository pins it. */
export interface Pinned {
  /** `OWNER/NAME` of the program's repository on GitHub, whose workflows are called; `undefined` where it is elsewhere. */
  readonly repository: string | undefined;
  readonly commit: string;
  /** `v1.2.3`, where the commit has such a tag. */
  readonly tag: string | undefined;
}

/** What the workflows of this program are called by. `{}` of them needs no more than the caller's name says. */
const callers: Readonly<Record<string, string>> = {
  preview: `on:
  pull_request:
jobs:
  preview:
    permissions: { contents: read, id-token: write, pull-requests: write }
    uses: @USES
    with: { program: @PROGRAM }
`,
  "preview-comment": `on:
  workflow_run:
    workflows: [preview]
    types: [completed]
jobs:
  comment:
    permissions: { actions: read, contents: read, pull-requests: write }
    uses: @USES
    with: { program: @PROGRAM }
`,
  deploy: `on:
  push:
    branches: [main]
  workflow_dispatch:
    inputs:
      stack: { description: "Stack to deploy, or all", type: string, default: all }
jobs:
  deploy:
    permissions: { contents: read, id-token: write }
    uses: @USES
    with: { program: @PROGRAM, stack: "\${{ inputs.stack || 'all' }}" }
`,
  drift: `on:
  schedule:
    - cron: "17 3 * * *"
  workflow_dispatch:
jobs:
  drift:
    permissions: { actions: read, contents: read, id-token: write, issues: write }
    uses: @USES
    with: { program: @PROGRAM }
`,
};

/** A line that calls one of these workflows, up to the version. */
const usesLine = new RegExp(`(uses: (\\S+)/\\.github/workflows/(?:${Object.keys(callers).join("|")})\\.yml@)\\S+(?: # \\S+)?`, "g");

const version = ({ commit, tag }: Pinned): string => (tag === undefined ? commit : `${commit} # ${tag}`);

/** A workflow whose calls of this program's workflows are at another version. */
export function withVersion(text: string, pinned: Pinned): string {
  return text.replaceAll(usesLine, (_, before: string) => `${before}${version(pinned)}`);
}

/**
 * Everything of a user's repository but the stack files.
 *
 * @param program folder of the program in it
 * @param from folder in which the program is
 */
export function repositoryFiles(program: string, from: string, pinned: Pinned): Files {
  const own = (file: string) => readFileSync(path.join(from, file), "utf8");
  const { repository } = pinned;
  const workflows = Object.entries(callers).map(([name, text]) => [
    `.github/workflows/${name}.yml`,
    `name: ${name}\n${text}`
      .replaceAll("@USES", `${repository}/.github/workflows/${name}.yml@${version(pinned)}`)
      .replaceAll("@PROGRAM", program),
  ]);
  return {
    "Pulumi.yaml": projectIn(own("Pulumi.yaml"), program),
    "ci/Pulumi.yaml": projectIn(own("ci/Pulumi.yaml"), program),
    "ci/Pulumi.aws.yaml": own("ci/Pulumi.aws.yaml"),
    "ci/Pulumi.azure.yaml": own("ci/Pulumi.azure.yaml"),
    ".gitignore": "/out/\n",
    "README.md": `# Clusters

Stack files for [Fenestra](${program}/README.md), which is pinned in \`${program}\`: [how this repository works](${program}/docs/repository.md).

\`\`\`sh
git submodule update --init
npm ci --prefix ${program}
${program}/cli/fenestra stacks
\`\`\`
`,
    ...(repository === undefined
      ? {}
      : {
          ...Object.fromEntries(workflows),
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

/** A project file whose `main` is in the program's folder: `index.ts` there, or that of its folder `ci`. */
export function projectIn(text: string, program: string): string {
  return text.replace(/^main: index\.ts$/m, () =>
    text.includes("stackConfigDir") ? `main: ${program}/index.ts` : `main: ../${program}/ci/index.ts`,
  );
}

/** Writes files that are not there yet, and makes the folder of the stack files; says of each what became of it. */
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

/** The version that is checked out in the program's folder. */
export function pinnedIn(folder: string): Pinned {
  const [, repository] = /^origin\t\S*github\.com[/:]([^/]+\/[^/]+?)(?:\.git)?\/? /m.exec(git(folder, ["remote", "--verbose"])) ?? [];
  const tags = git(folder, ["tag", "--points-at", "HEAD"]).split("\n").filter(isRelease);
  return { repository, commit: git(folder, ["rev-parse", "HEAD"]).trim(), tag: tags[0] };
}

/** Whether a tag is one of a release. */
export function isRelease(tag: string): boolean {
  return /^v\d+\.\d+\.\d+$/.test(tag);
}
