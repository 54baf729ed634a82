import { isImage } from "../../../components/model/artifacts.ts";
import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import { runsAhead } from "../../../components/model/moreArtifacts.ts";
import {
  compareVersions,
  hasWeakness,
  known,
  type MachineRole,
  machineArtifacts,
  minorOf,
  published,
  selectableVersions,
} from "../../../components/model/releases.ts";
import { imagesIn } from "../../program/images.ts";
import { type FindingInput, type Found, key, type Rules } from "./rule.ts";

/** Days after which a release is old; upstream makes one each month. */
const oldAfterDays = 60;
const dayMs = 86_400_000;

const rowFile = "artifacts.lock.json";

interface Used {
  readonly name: string;
  readonly version: string;
  readonly os: string;
  readonly path: string;
}

/** What the stack's machines and objects are made of, each version once. */
function used({ spec, program }: FindingInput): readonly Used[] {
  const { version } = spec.kubernetes;
  const roles = new Set<MachineRole>(["control-plane", ...spec.pools.map(({ os }) => os)]);
  const files = [...roles].flatMap((role) => Object.values(machineArtifacts(spec.artifacts, version, role)));
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

export const pinRules = {
  "known-vulnerability": {
    level: ["warning", "error"],
    about: "a version has a published weakness; accepted by the name of that, such as `CVE-2026-2270`",
    find: (input) =>
      used(input).flatMap(({ name, version, os, path }) =>
        Object.entries(known[name] ?? {}).flatMap(([id, weakness]): readonly Found[] => {
          const elsewhere = weakness.os !== undefined && weakness.os !== os;
          if (elsewhere || weakness.harmless !== undefined || !hasWeakness(version, weakness)) return [];
          const fixed = weakness.fixed.find((each) => minorOf(each) === minorOf(version));
          const command = `fenestra pin ${name === "kubernetes" ? "" : `${name} `}${fixed}`;
          return [
            {
              name: id,
              path,
              message: `${name} ${version} has ${id}: ${weakness.about} (${weakness.source}).`,
              remedy: `${fixed === undefined ? "No patch of this minor has the fix" : `${command} takes the fix`}; or accept it by ${key("acknowledge")}.${id}.`,
            },
          ];
        }),
      ),
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
          remedy: "fenestra pin --patches takes the newest patch release.",
        }
      );
    },
  },
  "runs-ahead": {
    level: "note",
    about: "a row of the user's lock file stands in the place of the program's, or has no effect",
    find: ({ spec }) =>
      spec.artifacts.flatMap((row): readonly Found[] => {
        if (row.replaces === undefined) return [];
        const path = `${rowFile} ${row.name} ${row.version} (${row.os})`;
        const [first] = row.replaces;
        if (first === undefined)
          return [
            {
              path,
              message:
                "The row has no effect: Fenestra has that patch or a later one, or no such minor, or what moves with it is missing.",
              remedy: "fenestra pin takes it out.",
            },
          ];
        return [
          {
            path,
            message: runsAhead(row)
              ? `It runs in place of Fenestra's ${first}.`
              : "Its digest is this file's: Fenestra's has none.",
            remedy: "Take the release of Fenestra that has it when there is one; the row then has no effect.",
          },
        ];
      }),
  },
} as const satisfies Rules;
