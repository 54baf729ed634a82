import { isPair, isScalar, parseDocument, visit } from "yaml";
import type { Artifact } from "../../components/model/artifacts.ts";
import { compareVersions, minorOf } from "../../components/model/releases.ts";
import { isProgram, type Publishers } from "./publishers.ts";

/** A publisher's newer patch release. */
export interface Newer {
  /** As in the lock file; `kubernetes` for all programs of a release. */
  readonly name: string;
  readonly version: string;
  readonly newest: string;
}

/** The name under which the programs of a Kubernetes release stand together. */
export const kubernetesName = "kubernetes";

/** Asks which patch releases there are of every minor in the lock file. What has none, such as the tag `ltsc2022`, is not looked for. */
export async function findNewer(
  lock: readonly Artifact[],
  publishers: Publishers,
): Promise<{ readonly newer: readonly Newer[]; readonly failed: readonly string[]; readonly skipped: readonly string[] }> {
  const programs = lock.filter(isProgram).sort((a, b) => compareVersions(a.version, b.version));
  const asked = new Map([
    ...programs.map((artifact) => [`${kubernetesName} ${minorOf(artifact.version)}`, { ...artifact, name: kubernetesName }] as const),
    ...lock.filter((artifact) => !isProgram(artifact)).map((artifact) => [`${artifact.name} ${artifact.version}`, artifact] as const),
  ]);
  const newer: Newer[] = [];
  const failed: string[] = [];
  const skipped: string[] = [];
  await Promise.all(
    [...asked.values()].map(async (artifact) => {
      const { name, version } = artifact;
      try {
        const all = partsOf(version) === undefined ? undefined : await publishers.versions(artifact);
        const newest = newestPatch(version, all ?? []);
        if (all === undefined) skipped.push(`${name} ${version}`);
        else if (newest !== undefined) newer.push({ name, version, newest });
      } catch (error) {
        failed.push(`${name} ${version}: ${error instanceof Error ? error.message : error}`);
      }
    }),
  );
  return {
    newer: newer.sort((a, b) => (a.name === b.name ? compareVersions(a.version, b.version) : a.name < b.name ? -1 : 1)),
    failed,
    skipped,
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
  return { minor, form: rest.replaceAll(/\d+/g, "#"), numbers: [patch, ...(rest.match(/\d+/g) ?? [])].map(Number) };
}

function compareNumbers(a: readonly number[], b: readonly number[]): number {
  return a.map((number, index) => number - (b[index] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

/** Those of them that can be taken: a program and its image move together or not at all. */
export function takeable(newer: readonly Newer[], together: readonly (readonly string[])[]): readonly Newer[] {
  return newer.filter(({ name, newest }) =>
    (together.find((group) => group.includes(name)) ?? []).every((own) =>
      newer.some((each) => each.name === own && each.newest === newest),
    ),
  );
}

/** `versions.json` with newer versions. */
export function newerVersions(text: string, newer: readonly Newer[]): string {
  return withScalars(text, (keys, value) => {
    const name = keys[0] === "defaultRelease" ? kubernetesName : keys;
    return newer.find((each) => name.includes(each.name) && each.version === value)?.newest;
  });
}

/** A stack file with a newer Kubernetes, where it has the newest one of its minor so far. */
export function newerStack(text: string, newer: readonly Newer[]): string {
  return withScalars(text, (keys, value) =>
    keys.join(" ") === "config fenestra:kubernetes version"
      ? newer.find(({ name, version }) => name === kubernetesName && version === value)?.newest
      : undefined,
  );
}

/** A text of YAML or JSON with scalars replaced where they stand, in block or flow style. The rest stays as it is, to the byte. */
function withScalars(text: string, replace: (keys: readonly string[], value: unknown) => string | undefined): string {
  const parts: string[] = [];
  let done = 0;
  visit(parseDocument(text), {
    Scalar: (_, { value, range }, ancestors) => {
      if (!range) return;
      const keys = ancestors.filter(isPair).map(({ key }) => String(isScalar(key) ? key.value : key));
      const other = replace(keys, value);
      if (other === undefined) return;
      parts.push(text.slice(done, range[0]), text.slice(range[0], range[1]).replace(String(value), other));
      done = range[1];
    },
  });
  return parts.join("") + text.slice(done);
}
