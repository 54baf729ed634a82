import { isImage } from "../../../components/model/artifacts.ts";
import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import {
  compareVersions,
  hasWeakness,
  known,
  type MachineRole,
  machineArtifacts,
  minorOf,
  nearest,
  published,
  selectableVersions,
  type Weakness,
} from "../../../components/model/releases.ts";
import { grouped } from "../../finding.ts";
import { imagesIn } from "../../program/recorded.ts";
import { type FindingInput, type Found, key, type Rules } from "./rule.ts";

/** Days after which a release is old; upstream makes one each month. */
const oldAfterDays = 60;
const dayMs = 86_400_000;

interface Used {
  readonly name: string;
  readonly version: string;
  readonly os: string;
  readonly path: string;
}

function filesOf({ artifacts, kubernetes, pools }: Pick<ClusterSpec, "artifacts" | "kubernetes" | "pools">) {
  const roles = new Set<MachineRole>(["control-plane", ...pools.map(({ os }) => os)]);
  return [...roles].flatMap((role) => Object.values(machineArtifacts(artifacts, kubernetes.version, role)));
}

/** What the stack's machines and objects are made of, each version once. */
function used({ spec, program }: FindingInput): readonly Used[] {
  const { version } = spec.kubernetes;
  const files = filesOf(spec);
  const images = new Set(program.resources.flatMap(({ inputs }) => imagesIn(inputs)));
  const rows = [...files, ...spec.artifacts.filter((row) => isImage(row) && images.has(row.url))];
  const systems = [...new Set(files.map(({ os }) => os))];
  return [
    ...systems.map((os) => ({ name: "kubernetes", version, os, path: key("kubernetes.version") })),
    ...rows.map(({ name, version, os }) => ({ name, version, os, path: `${name} ${version}` })),
  ];
}

function newestPatch({ kubernetes, artifacts }: ClusterSpec): string {
  const all = selectableVersions(artifacts).filter((each) => minorOf(each) === minorOf(kubernetes.version));
  return all.at(-1) ?? kubernetes.version;
}

type Named = readonly [id: string, weakness: Weakness];

/** What is known against a version on a system, and does harm here. */
function weaknessesOf({ name, version, os }: Pick<Used, "name" | "version" | "os">): readonly Named[] {
  return Object.entries(known[name] ?? {}).filter(
    ([, weakness]) => (weakness.os ?? os) === os && weakness.harmless === undefined && hasWeakness(version, weakness),
  );
}

/** The first version of the same minor without any of these; `undefined` where one has no fix in it. */
function fixOf(version: string, weak: readonly Named[]): string | undefined {
  const fixes = weak.flatMap(([, { fixed }]) => fixed.find((each) => minorOf(each) === minorOf(version)) ?? []);
  return fixes.length < weak.length ? undefined : fixes.toSorted(compareVersions).at(-1);
}

/** A release in the lock file, of this minor or the next one, against which nothing is known on any system. */
function soundRelease({ artifacts, kubernetes: { version } }: ClusterSpec): string | undefined {
  const next = (each: string) => Number(minorOf(each).split(".")[1]) - Number(minorOf(version).split(".")[1]);
  return selectableVersions(artifacts).find(
    (each) =>
      [0, 1].includes(next(each)) &&
      compareVersions(each, version) > 0 &&
      ["linux", "windows"].every((os) => weaknessesOf({ name: "kubernetes", version: each, os }).length === 0),
  );
}

/** All of a program in one, so that one command ends it. */
function weaknessFinding(spec: ClusterSpec, { name, version, path }: Used, weak: readonly Named[]): Found {
  const isRelease = name === "kubernetes";
  const fix = fixOf(version, weak);
  const sound = isRelease ? soundRelease(spec) : undefined;
  const ways = [
    ...(sound === undefined ? [] : [`Set ${key("kubernetes.version")} to ${sound}`]),
    ...(fix === undefined ? [] : [`fenestra pin ${isRelease ? "" : `${name} `}${fix} takes the fix`]),
  ];
  const names = weak.map(([id]) => id);
  const told = weak.map(([id, { about, source }]) => `${id}: ${about} (${source})`);
  return {
    names,
    path,
    message: `${name} ${version} has ${told.join("; ")}.`,
    remedy: `${ways.length === 0 ? "No patch of this minor has the fix" : ways.join("; or ")}; or accept it by ${key("acknowledge")}, under ${names.join(" and ")}.`,
  };
}

/**
 * Reasons, by what they accept, for what a new stack has although nothing better could be pinned: no digest of it, or
 * none of the version with a fix, is published. Each names the command that ends it. Nothing else is accepted for
 * anybody: what `nearest` of `versions.json` does not explain is a fault of the release.
 */
export function withoutDigest(
  spec: Pick<ClusterSpec, "artifacts" | "kubernetes" | "pools">,
): Readonly<Record<string, string>> {
  const files = filesOf(spec);
  const bare = files.find(({ digest }) => digest === null);
  const weak = files.flatMap((file) => {
    const why = nearest[file.name];
    const all = weaknessesOf(file);
    const fix = fixOf(file.version, all);
    return why === undefined || fix === undefined
      ? []
      : all.map(([id]) => [id, `${file.name}, ${why}: fenestra pin ${file.name} ${fix} asks for it`] as const);
  });
  return {
    ...(bare !== undefined && {
      "unconfirmed-artifact": `${bare.name} ${bare.version} and others: no public text has their digests: fenestra pin asks for them`,
    }),
    ...Object.fromEntries(weak),
  };
}

export const pinRules = {
  "known-vulnerability": {
    level: ["warning", "error"],
    about: "a version has a published weakness; accepted by the name of that, such as `CVE-2026-2270`",
    find: (input) =>
      grouped(used(input), ({ path }) => path).flatMap(([first, all]) => {
        const weak = Map.groupBy(new Map(all.flatMap(weaknessesOf)), ([id]) =>
          Object.hasOwn(input.spec.acknowledge, id),
        );
        return [...weak.values()].map((some) => weaknessFinding(input.spec, first, some));
      }),
  },
  "release-behind": {
    level: ["note", "warning"],
    about: "the release of Kubernetes is old, or there is a newer one in the lock file",
    find: ({ spec, asOf }) => {
      const { version } = spec.kubernetes;
      const path = key("kubernetes.version");
      const newest = newestPatch(spec);
      if (compareVersions(newest, version) > 0)
        return { path, message: `Kubernetes ${newest} follows ${version}.`, remedy: `Set it to ${newest}.` };
      const day = published.kubernetes?.[version];
      if (day === undefined || asOf === undefined) return false;
      const days = Math.floor((Date.parse(asOf) - Date.parse(day)) / dayMs);
      return (
        days > oldAfterDays && {
          path,
          message: `Kubernetes ${version} is of ${day}, ${days} days old.`,
          remedy: "Take a newer patch release, if there is one, by fenestra pin and its version.",
        }
      );
    },
  },
} as const satisfies Rules;
