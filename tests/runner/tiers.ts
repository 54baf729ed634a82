import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { stackNames } from "../../components/config/stackFile.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { defaultRelease, minorOf, minors, selectableVersions } from "../../components/model/releases.ts";
import { createProgress, findOnPath } from "../../rehearsal/host/command.ts";
import { isStrict, obtainOrReason } from "../../rehearsal/programs/catalog.ts";
import { obtainPrograms } from "../../rehearsal/programs/obtain.ts";
import { stackDir, testStacks } from "../support/stacks.ts";
import { type Counts, checks, mocha, type Output, rehearsal } from "./commands.ts";

export interface Step {
  readonly title: string;
  /** `live` for the last of a row: what runs beside it is printed when it has ended. */
  run(output: Output): Promise<Counts>;
}

/**
 * A rehearsal obtains its programs itself; without any, and without Go, it is skipped, which is an error in strict runs.
 */
async function rehearse(args: readonly string[], output: Output = "live"): Promise<Counts> {
  const canBuild = (await findOnPath("go", process.env.PATH ?? "")) !== undefined;
  const progress = createProgress(process.stdout);
  const found = canBuild ? undefined : await obtainOrReason(() => obtainPrograms({ progress }));
  if (found === undefined || "programs" in found) return await rehearsal(args, output);
  if (isStrict()) throw new Error(found.reason);
  console.log(`skipped: ${found.reason}`);
  return { passed: 0, failed: 0, skipped: 1 };
}

const stack = (name: string, ...options: readonly string[]): Step => ({
  title: `rehearsal of ${[name, ...options].join(" ")}`,
  run: (output) => rehearse(["--stack", name, ...stackDir, ...options], output),
});

/** A rehearsal of a stack with a line of its file replaced, or one more. */
const changed = (name: string, what: string, line: string, ...options: readonly string[]): Step => ({
  title: `rehearsal of ${name} with ${what}`,
  run: async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "fenestra-stacks-"));
    try {
      const key = line.slice(0, line.indexOf(": "));
      const others = readFileSync(new URL(`Pulumi.${name}.yaml`, testStacks), "utf8").replace(
        new RegExp(`^  ${key}: .*\n`, "m"),
        "",
      );
      writeFileSync(path.join(folder, `Pulumi.${name}.yaml`), `${others}  ${line}\n`);
      return await rehearse(["--stack", name, "--stack-dir", folder, ...options]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
});

const release = (name: string, version: string) =>
  changed(name, `Kubernetes ${version}`, `fenestra:kubernetes: { version: ${version} }`);

/** The newest release of each minor but the default one's. */
const otherReleases = () =>
  minors.flatMap(({ minor }) =>
    minor === minorOf(defaultRelease)
      ? []
      : (selectableVersions(readArtifactLock()).findLast((version) => minorOf(version) === minor) ?? []),
  );

// Tests wait much for a shell or a server: two files at once, on as many cores.
const parallel = ["--parallel", "--jobs", "2"];
const slowFiles = "tests/**/*.slow.test.ts";
const nightFiles = "tests/**/*.night.test.ts";

/** Stacks where machines end, never join and are rolled: a control plane of one and of three in each cloud. */
const replacing = /-(dev|prod)$/;

/** Each a list of what runs one after another; steps in one row run at the same time. File names tell the tier. */
export const tiers = {
  fast: (): readonly (readonly Step[])[] => [
    [
      {
        title: "types, lint and format, unused exports and dependencies",
        run: () =>
          checks([
            // The native compiler takes a sixth of the time; Pulumi and the tests want the library of the one before.
            ["../typescript-native/bin/tsc", "--noEmit"],
            ["biome", "ci", "."],
            // Biome finds cycles too, in ten times the time.
            ["oxlint"],
            ["knip", "--no-progress"],
          ]),
      },
      {
        title: "fast tests",
        run: () => mocha([...parallel, "--ignore", slowFiles, "--ignore", nightFiles, "tests/**/*.test.ts"]),
      },
      // It mostly waits.
      stack("aws-dev"),
    ],
  ],
  slow: (): readonly (readonly Step[])[] => [
    [{ title: "slow tests", run: () => mocha([...parallel, slowFiles]) }],
    [stack("aws-dev", "--every-add-on"), stack("azure-dev", "--every-add-on")],
  ],
  night: (): readonly (readonly Step[])[] => [
    ...stackNames(testStacks).map((name) => [
      stack(name, "--full", ...(replacing.test(name) ? [] : ["--skip", "replaced"])),
    ]),
    ...otherReleases().map((version, index) => [release(index % 2 === 0 ? "aws-dev" : "azure-dev", version)]),
    [changed("azure-dev", "five members", "fenestra:controlPlane: { replicas: 5 }", "--only", "serving-certificates")],
    ...["aws-prod", "azure-prod"].map((name) => [
      changed(name, "--update-to", "fenestra:kubernetes: { version: 1.36.4, sizeTier: medium }", "--update-to", "1.37"),
    ]),
    ...globSync(nightFiles, { cwd: path.join(import.meta.dirname, "../../") })
      .toSorted()
      .map((file) => [{ title: file, run: () => mocha([file]) }]),
  ],
} as const;

/** Steps of the night, by a part of the title, that a pull request runs by the folder that it touches. */
const nightOf: Readonly<Record<string, readonly string[]>> = {
  "rehearsal/": ["rehearsal/controls", "aws-prod --full", "azure-prod --full"],
  "components/gates/": ["gates/faults"],
  "components/machine/linux/": ["rehearsal/controls", "aws-prod --full", "azure-prod --full", "linux/faults"],
  "components/machine/": ["rehearsal/controls"],
  "components/nodeController/": ["nodeController/table"],
  "components/podNetworks/": ["rehearsal/controls", "azure-cni --full"],
};

/** Titles of all the night's steps, or of those that belong to changed files. */
export function nightTitles(changed?: readonly string[]): readonly string[] {
  const titles = tiers.night().flatMap((row) => row.map(({ title }) => title));
  if (changed === undefined) return titles;
  const wanted = Object.entries(nightOf).flatMap(([folder, parts]) =>
    changed.some((file) => file.startsWith(folder)) ? parts : [],
  );
  return titles.filter((title) => wanted.some((part) => title.includes(part)));
}
