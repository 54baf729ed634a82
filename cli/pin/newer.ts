import { type Artifact, isImage } from "../../components/model/artifacts.ts";
import { compareVersions, minorOf } from "../../components/model/releases.ts";
import type { Publishers } from "./ask.ts";

/** A publisher's newer patch release of something in the lock file. */
export interface Newer {
  /** As in the lock file; `kubernetes` for all programs of a release. */
  readonly name: string;
  readonly version: string;
  readonly newest: string;
}

/** What a look at the publishers comes to. */
export interface Look {
  readonly newer: readonly Newer[];
  /** Publishers that could not be asked, in words. */
  readonly failed: readonly string[];
  /** What has no patch releases that could be looked for: tags such as `ltsc2022` or `2.55`. */
  readonly unnumbered: readonly string[];
}

/** The name under which the programs of a Kubernetes release stand together. */
export const kubernetesName = "kubernetes";

/** Asks which patch releases there are of every minor in the lock file. */
export async function findNewer(lock: readonly Artifact[], publishers: Publishers): Promise<Look> {
  const programs = lock.filter(({ url }) => isProgram(url));
  const minors = Map.groupBy(programs, ({ version }) => minorOf(version));
  const others = new Map(lock.filter(({ url }) => !isProgram(url)).map((artifact) => [`${artifact.name} ${artifact.version}`, artifact]));
  const unnumbered = [...others.values()].filter(({ version }) => partsOf(version) === undefined);
  const asked = [
    ...[...minors].map(([minor, members]) => {
      const [version = minor] = members.map((member) => member.version).sort((a, b) => compareVersions(b, a));
      return { name: kubernetesName, version, all: () => publishers.stable(minor) };
    }),
    ...[...others.values()]
      .filter(({ version }) => partsOf(version) !== undefined)
      .map(({ name, version, url }) => ({
        name,
        version,
        all: () => (isImage({ url }) ? publishers.tags(url) : publishers.releases(...repositoryOf(url))),
      })),
  ];
  const answers = await Promise.all(asked.map(async ({ name, version, all }) => ({ name, version, answer: await all() })));
  return {
    newer: answers.flatMap(({ name, version, answer }) => {
      const newest = answer.kind === "versions" ? newestPatch(version, answer.versions) : undefined;
      return newest === undefined ? [] : [{ name, version, newest }];
    }),
    failed: answers.flatMap(({ name, version, answer }) =>
      answer.kind === "failed" ? [`${name} ${version}: ${answer.from}: ${answer.reason}`] : [],
    ),
    unnumbered: unnumbered.map(({ name, version }) => `${name} ${version}`),
  };
}

/** The newest of these versions that is a later patch of the same minor and of the same form; `v` in front does not matter. */
function newestPatch(version: string, all: readonly string[]): string | undefined {
  const own = partsOf(version);
  const later = all.flatMap((text) => {
    const parts = partsOf(text.replace(/^v/, ""));
    const same = own !== undefined && parts?.minor === own.minor && parts.form === own.form;
    return same && compareNumbers(parts.numbers, own.numbers) > 0 ? [{ text: text.replace(/^v/, ""), ...parts }] : [];
  });
  return later.sort((a, b) => compareNumbers(b.numbers, a.numbers))[0]?.text;
}

/** `4.12.0-eksbuild.2` as minor `4.12`, form `-eksbuild.#` and numbers 0 and 2; `undefined` for what is not numbered so. */
function partsOf(version: string): { minor: string; form: string; numbers: readonly number[] } | undefined {
  const [, minor, patch, rest = ""] = /^(\d+\.\d+)\.(\d+)((?:-.*)?)$/.exec(version) ?? [];
  if (minor === undefined || patch === undefined) return undefined;
  const numbers = [patch, ...(rest.match(/\d+/g) ?? [])].map(Number);
  return { minor, form: rest.replaceAll(/\d+/g, "#"), numbers };
}

function compareNumbers(a: readonly number[], b: readonly number[]): number {
  return a.map((number, index) => number - (b[index] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

/** Whether it is a program of a Kubernetes release. */
export function isProgram(url: string): boolean {
  return url.startsWith("https://dl.k8s.io/release/");
}

/** Owner and name of the repository of GitHub whose releases a file is of. */
function repositoryOf(url: string): readonly [owner: string, repository: string] {
  const { host, pathname } = new URL(url);
  const [, owner = "", repository = ""] = pathname.split("/");
  // artifacts.k8s.io/binaries/NAME has no list; the releases of kubernetes/NAME have the same numbers.
  return [host === "artifacts.k8s.io" ? "kubernetes" : owner, repository];
}
