import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { compareVersions, selectableVersions } from "../../components/model/releases.ts";
import { parseChanges, type StackChange, table } from "../changes/stackChange.ts";

const levels = ["patch", "minor", "major"] as const;

export type ReleaseLevel = (typeof levels)[number];

/**
 * Patch: every machine stays and nothing is replaced or removed. Major: an older stack file is refused, or data, an
 * address, a name or a pool goes for good. Minor: all between.
 */
export function levelOf(changes: readonly StackChange[]): ReleaseLevel {
  const levelsOf = changes.map(({ status, overview }): ReleaseLevel => {
    if (status === "failed" || status === "unknown") return "major";
    if (status !== "changed" || overview === null) return "patch";
    const { controlPlane, pools, refused, lost, replaced, removed } = overview;
    const fates = (of: typeof pools) => of.map(({ fate }) => fate);
    if (refused + lost > 0 || fates(controlPlane).some(goes) || fates(pools).some((fate) => goes(fate) || isNew(fate)))
      return "major";
    return replaced + removed > 0 || fates([...controlPlane, ...pools]).some((fate) => fate !== "stays")
      ? "minor"
      : "patch";
  });
  return levels.findLast((level) => levelsOf.includes(level)) ?? "patch";
}

type Fate = NonNullable<StackChange["overview"]>["pools"][number]["fate"];
const goes = (fate: Fate): boolean => fate === "removed" || fate === "refused";
/** Drained at once, not machine by machine. */
const isNew = (fate: Fate): boolean => fate === "replaced" || fate === "may-be-replaced";

/** Before 1.0.0 a minor may do what a major does. */
export function lowestVersion(previous: string, level: ReleaseLevel): string {
  const [major = 0, minor = 0, patch = 0] = previous.replace(/^v/, "").split(".").map(Number);
  if (level === "patch") return [major, minor, patch + 1].join(".");
  return level === "minor" || major === 0 ? [major, minor + 1, 0].join(".") : [major + 1, 0, 0].join(".");
}

export interface Facts {
  readonly kubernetes: readonly string[];
  /** Versions of Node and of the Pulumi CLI. */
  readonly needs: readonly string[];
  /** Of the workflows. */
  readonly rights: string;
}

export function releaseNotes(section: string, changes: readonly StackChange[], before: Facts, now: Facts): string {
  const other = (from: readonly string[], than: readonly string[]) =>
    from.filter((each) => !than.includes(each)).join(", ") || "none";
  return [
    section,
    "",
    "## What it does to stacks that are there",
    "",
    ...table(changes.filter(({ status }) => status !== "added")),
    "",
    `By this it is a ${levelOf(changes)} release. What it does to yours: \`fenestra update\`, or the comment of the pull request.`,
    "",
    `- Kubernetes that came: ${other(now.kubernetes, before.kubernetes)}; that went: ${other(before.kubernetes, now.kubernetes)}`,
    `- ${now.rights === before.rights ? "The program of `ci` need not run again." : "Run the program of `ci` again: the rights of the workflows differ."}`,
    `- Needs ${now.needs.join(", ")}${now.needs.join() === before.needs.join() ? "" : ` (before: ${before.needs.join(", ")})`}`,
    "",
  ].join("\n");
}

/** Of CHANGES.md. */
export function sectionOf(text: string, version: string): string {
  const [, ...sections] = text.split(/^## /m);
  const found = sections.find((section) => section.split("\n")[0] === version);
  if (found === undefined) throw new RangeError(`CHANGES.md has no section ${version}`);
  return found.split("\n").slice(1).join("\n").trim();
}

/** Refuses a number that is too low for the release. */
export function requireVersion(version: string, previous: string, changes: readonly StackChange[]): void {
  const level = levelOf(changes);
  const lowest = lowestVersion(previous, level);
  if (compareVersions(version, lowest) < 0)
    throw new RangeError(`after ${previous} this is a ${level} release: at least ${lowest}, not ${version}`);
}

function factsOf(read: (file: string) => string): Facts {
  const { engines }: { engines: { node: string } } = JSON.parse(read("package.json"));
  return {
    kubernetes: selectableVersions(JSON.parse(read("components/model/artifacts.lock.json"))),
    needs: [`Node ${engines.node}`, `Pulumi ${/^requiredPulumiVersion: "(.*)"$/m.exec(read("Pulumi.yaml"))?.[1]}`],
    rights: ["aws.txt", "azure.txt", "azure-roles.txt"].map((name) => read(`tests/ci/snapshots/${name}`)).join(),
  };
}

if (import.meta.main) {
  const root = path.join(import.meta.dirname, "../../");
  const [previous = "", file = ""] = process.argv.slice(2);
  const here = (name: string) => readFileSync(`${root}${name}`, "utf8");
  const then = (name: string) =>
    execFileSync("git", ["-C", root, "show", `${previous}:${name}`], { encoding: "utf8", maxBuffer: 2 ** 28 });
  const { version }: { version: string } = JSON.parse(here("package.json"));
  const changes = parseChanges(readFileSync(file, "utf8"));
  requireVersion(version, previous, changes);
  process.stdout.write(releaseNotes(sectionOf(here("CHANGES.md"), version), changes, factsOf(then), factsOf(here)));
}
