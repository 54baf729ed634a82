/**
 * Writes `components/model/programFlags.json`: the flags and feature gates that the control plane's programs take, by
 * Kubernetes minor. `--help` lists them: flags but those that upstream hides, and the feature gates that may be set.
 *
 * Usage: cli/with-node tools/flags/controlPlane.ts VERSION... The programs of such a Kubernetes release (1.37.1) are
 * those of the rehearsal, which downloads or builds what it lacks. Other minors are kept.
 */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { compareVersions, minorOf } from "../../components/model/releases.ts";
import {
  controlPlanePrograms,
  flagKinds,
  minorSchema,
  programFlagsFile,
  readFlags,
} from "../../components/model/reservedFlags.ts";
import { createProgress, obtainPrograms } from "../../rehearsal/testkit/programs.ts";
import { etcdFlags, helpFlags, helpGates } from "./help.ts";

const run = promisify(execFile);

async function ask(program: string, argument: string): Promise<string> {
  const { stdout, stderr } = await run(program, [argument], { maxBuffer: 2 ** 24 });
  return stdout + stderr;
}

async function recordsOf(release: string) {
  const programs = await obtainPrograms({ progress: createProgress(), wanted: { minor: minorOf(release), release } });
  const records = Object.values(controlPlanePrograms).map(async (program) => {
    const { path, version } = programs[program];
    const help = await ask(path, "--help");
    const flags = [...new Map(program === "etcd" ? etcdFlags(help) : helpFlags(help))].sort();
    const ofKind = (kind: string) => flags.flatMap(([name, of]) => (of === kind ? [name] : []));
    const kinds = Object.fromEntries(Object.keys(flagKinds).map((kind) => [kind, ofKind(kind)]));
    return [program, { version, gates: helpGates(help), flags: kinds }] as const;
  });
  return minorSchema.parse(Object.fromEntries(await Promise.all(records)));
}

const table = { ...readFlags(readFileSync(programFlagsFile, "utf8")) };
for (const release of process.argv.slice(2)) table[minorOf(release)] = await recordsOf(release);
const all = Object.entries(table).sort(([a], [b]) => compareVersions(`${a}.0`, `${b}.0`));
const single = all.flatMap(([minors, records]) =>
  Object.entries(records).flatMap(([programs, { gates, flags }]) =>
    Object.entries({ gates, ...flags }).flatMap(([kind, of]) => of.map((names) => ({ programs, minors, kind, names }))),
  ),
);
const rows = merge(merge(merge(single, "programs"), "minors"), "names");
const releases = all.map(([minor, records]) => {
  const versions = Object.entries(records).map(([program, { version }]) => [program, version] as const);
  return [minor, Object.fromEntries(versions)] as const;
});
writeFileSync(programFlagsFile, `${JSON.stringify({ releases: Object.fromEntries(releases), rows }, null, 2)}\n`);

/** Rows that differ in one field alone become one, which has all its values. */
function merge(rows: typeof single, field: keyof (typeof single)[number]) {
  const merged = new Map<string, (typeof single)[number]>();
  for (const row of rows) {
    const key = JSON.stringify({ ...row, [field]: "" });
    const before = merged.get(key);
    merged.set(key, before === undefined ? row : { ...row, [field]: `${before[field]} ${row[field]}` });
  }
  return [...merged.values()];
}
