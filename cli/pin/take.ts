import { isScalar, parseDocument } from "yaml";
import type { Artifact } from "../../components/model/artifacts.ts";
import { atVersion, withRelease } from "./lock.ts";
import { isProgram, kubernetesName, type Newer } from "./newer.ts";

/** Texts of files by their paths. */
export type Texts = ReadonlyMap<string, string>;

/** What was taken. */
export interface Taken {
  readonly lock: readonly Artifact[];
  readonly texts: Texts;
  readonly taken: readonly Newer[];
  /** Those whose place in the sources was not found beyond doubt. */
  readonly left: readonly Newer[];
}

/**
 * Puts newer patch releases into the lock file, without their digests, and into the sources and stack files that name the older ones. The
 * programs of a Kubernetes release come beside the older ones. What stands at no place, or at several, is left to a person.
 */
export function takeNewer(lock: readonly Artifact[], sources: Texts, newer: readonly Newer[]): Taken {
  let texts = sources;
  const taken: Newer[] = [];
  for (const each of newer) {
    const next = each.name === kubernetesName ? withKubernetes(texts, each) : withVersion(texts, each, newer, lock);
    if (next === undefined) continue;
    texts = next;
    taken.push(each);
  }
  return { lock: inLock(lock, taken), texts, taken, left: newer.filter((each) => !taken.includes(each)) };
}

/** The default release, and the version of each stack that has it. */
function withKubernetes(texts: Texts, { version, newest }: Newer): Texts {
  const own = `defaultRelease = "${version}"`;
  return new Map(
    [...texts].map(([file, text]) => [
      file,
      file.endsWith(".yaml") ? withStackVersion(text, version, newest) : text.replace(own, `defaultRelease = "${newest}"`),
    ]),
  );
}

/** A stack file with its version of Kubernetes replaced where it stands, in block or flow style. The rest stays as it is, to the byte. */
function withStackVersion(text: string, version: string, newest: string): string {
  const node = parseDocument(text).getIn(["config", "fenestra:kubernetes", "version"], true);
  if (!isScalar(node) || node.value !== version || !node.range) return text;
  const [start, end] = node.range;
  return text.slice(0, start) + text.slice(start, end).replace(version, newest) + text.slice(end);
}

/** The texts with a newer version after the artifact's name, or else at the only place that has the older one. */
function withVersion(texts: Texts, own: Newer, newer: readonly Newer[], lock: readonly Artifact[]): Texts | undefined {
  const { name, version, newest } = own;
  const keyed = new RegExp(`(["\\s]${escaped(name)}"?: (?:\\{[^}]*?)?")${escaped(version)}"`, "g");
  const byName = new Map([...texts].map(([file, text]) => [file, text.replace(keyed, `$1${newest}"`)]));
  if ([...byName].some(([file, text]) => text !== texts.get(file))) return byName;
  // One place for several artifacts, such as a program and its image: they move together or not at all.
  const together = lock.filter((artifact) => artifact.version === version);
  const same = together.every((artifact) =>
    newer.some((each) => each.name === artifact.name && each.version === version && each.newest === newest),
  );
  const places = [...texts.values()].reduce((sum, text) => sum + text.split(`"${version}"`).length - 1, 0);
  const moved = [...texts.values()].some((text) => text.includes(`"${newest}"`));
  if (!same || places > 1 || (places === 0 && !moved)) return undefined;
  return new Map([...texts].map(([file, text]) => [file, text.replace(`"${version}"`, `"${newest}"`)]));
}

function inLock(lock: readonly Artifact[], taken: readonly Newer[]): readonly Artifact[] {
  const moved = lock.map((artifact): Artifact => {
    const found = taken.find(({ name, version }) => name === artifact.name && version === artifact.version);
    return found === undefined || isProgram(artifact.url) ? artifact : atVersion(artifact, found.newest);
  });
  return taken
    .filter(({ name }) => name === kubernetesName)
    .reduce<readonly Artifact[]>((all, { newest }) => withRelease(all, newest), moved);
}

function escaped(text: string): string {
  return text.replaceAll(/\W/g, "\\$&");
}
