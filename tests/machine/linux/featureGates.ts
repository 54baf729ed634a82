/**
 * Writes `components/model/featureGates.json`: the feature gates that the control plane's programs let one set, by
 * Kubernetes minor, as `--help` lists them.
 *
 * Usage: cli/with-node tests/machine/linux/featureGates.ts VERSION... The programs of such a Kubernetes release (1.37.1) are
 * those of the rehearsal, which downloads or builds what it lacks. Other minors in use are kept.
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { promisify } from "node:util";
import recorded from "../../../components/model/featureGates.json" with { type: "json" };
import { compareVersions, minorFacts, minorOf } from "../../../components/model/releases.ts";
import { controlPlanePrograms, featureGates, type ProgramGates } from "../../../components/model/reservedFlags.ts";
import { createProgress } from "../../../rehearsal/host/command.ts";
import { obtainPrograms } from "../../../rehearsal/programs/obtain.ts";
import { helpGates } from "./helpGates.ts";

const run = promisify(execFile);

async function ask(program: string, argument: string) {
  const { stdout, stderr } = await run(program, [argument], { maxBuffer: 2 ** 24 });
  return stdout + stderr;
}

async function recordsOf(release: string) {
  const programs = await obtainPrograms({ progress: createProgress(), wanted: { minor: minorOf(release), release } });
  const records = Object.values(controlPlanePrograms).map(async (program) => {
    const { path, version } = programs[program];
    return [program, { version, gates: helpGates(await ask(path, "--help")) }] as const;
  });
  return Object.fromEntries(await Promise.all(records));
}

const file = new URL("../../../components/model/featureGates.json", import.meta.url);
const table: Record<string, Readonly<Record<string, ProgramGates>>> = Object.fromEntries(
  Object.keys(recorded.releases).flatMap((minor) =>
    minorFacts(minor) === undefined ? [] : [[minor, featureGates(minor)]],
  ),
);
const asked = await Promise.all(
  process.argv.slice(2).map(async (release) => [minorOf(release), await recordsOf(release)] as const),
);
const all = Object.entries({ ...table, ...Object.fromEntries(asked) }).sort(([a], [b]) =>
  compareVersions(`${a}.0`, `${b}.0`),
);
const single = all.flatMap(([minors, records]) =>
  Object.entries(records).flatMap(([programs, { gates }]) => gates.map((names) => ({ programs, minors, names }))),
);
const rows = merge(merge(merge(single, "programs"), "minors"), "names");
const releases = all.map(([minor, records]) => {
  const versions = Object.entries(records).map(([program, { version }]) => [program, version] as const);
  return [minor, Object.fromEntries(versions)] as const;
});
writeFileSync(file, `${JSON.stringify({ releases: Object.fromEntries(releases), rows }, null, 2)}\n`);

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
