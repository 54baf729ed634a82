import { fewerMachines } from "../../components/model/upgrade.ts";
import { type Finding, type Level, levels } from "../finding.ts";
import { addOnRules, contentRules, identityRules, sizeRules } from "./rules/content.ts";
import { pinRules } from "./rules/pins.ts";
import { type FindingInput, production, type Rule, type Rules } from "./rules/rule.ts";
import { stackRules } from "./rules/stack.ts";

export type { FindingInput } from "./rules/rule.ts";
export { levels };

/** Anyone who reads the user data has the secret; a weakness is accepted by its own name. */
const neverAccepted = ["known-vulnerability", "secret-in-the-open"];

/** Rules by id, without `acknowledged-nothing`, which is about the others. */
export const findingRules = {
  ...stackRules,
  ...sizeRules,
  ...addOnRules,
  ...identityRules,
  ...contentRules,
  ...pinRules,
};

const unused = {
  level: "note",
  about: "a reason in `acknowledge` for a finding that the plan does not have, or that cannot be accepted",
} as const;

/** Every finding there is, sorted by id, a line each. */
export function findingList(): string {
  const rows: readonly (readonly [string, Pick<Rule, "level" | "about">])[] = [
    ...Object.entries<Rule>(findingRules),
    ["acknowledged-nothing", unused],
    [
      fewerMachines,
      { level: "error", about: "of previews alone: an autoscaled pool in production may lose machines at once" },
    ],
  ];
  return rows
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, { level, about }]) => `- \`${id}\` (${[level].flat().join(" or ")}): ${about}`)
    .join("\n");
}

/** `pools[2]` before `pools[10]`. */
const collator = new Intl.Collator("en", { numeric: true });

/** Findings once each, worst first, then by rule and place. */
export function findings(input: FindingInput): readonly Finding[] {
  const rules: Rules = findingRules;
  const found = Object.entries(rules).flatMap(([id, { level, find }]) => {
    const [usual, inProduction = usual] = typeof level === "string" ? [level] : level;
    const common = { id, level: production(input.spec) ? inProduction : usual };
    return [find(input) || []].flat().map((each) => ({ ...common, ...each }));
  });
  type Named = Omit<Finding, "acknowledged"> & { readonly names?: readonly string[] };
  const namesOf = ({ id, names }: Named): readonly string[] => names ?? [id];
  const all: readonly Named[] = [...found, ...unusedReasons(input, new Set(found.flatMap(namesOf)))];
  const { acknowledge } = input.spec;
  const accepted = (names: readonly string[]): string | null =>
    names.every((id) => Object.hasOwn(acknowledge, id) && !neverAccepted.includes(id))
      ? [...new Set(names.map((id) => acknowledge[id]))].join("; ")
      : null;
  const once = new Map(all.map((each) => [`${each.id} ${each.path} ${each.message}`, each]));
  return [...once.values()]
    .map(({ names, ...each }) => ({ ...each, acknowledged: accepted(names ?? [each.id]) }))
    .sort(
      (a, b) =>
        levels.indexOf(a.level) - levels.indexOf(b.level) ||
        collator.compare(a.id, b.id) ||
        collator.compare(a.path, b.path),
    );
}

/** An acknowledged finding that does not occur is mistyped or obsolete. */
function unusedReasons({ spec }: FindingInput, found: ReadonlySet<string>): readonly Omit<Finding, "acknowledged">[] {
  return Object.keys(spec.acknowledge)
    .filter((id) => id !== fewerMachines && (!found.has(id) || neverAccepted.includes(id)))
    .map((id) => ({
      id: "acknowledged-nothing",
      level: unused.level,
      path: `config.fenestra:acknowledge["${id}"]`,
      message: neverAccepted.includes(id)
        ? `The finding ${id} cannot be accepted.`
        : `The plan has no finding ${id} to accept.`,
      remedy: "Take the reason out, or correct the finding's name.",
    }));
}

/** Whether a finding is at a level or worse, acknowledged ones aside. */
export function reaches(all: readonly Finding[], level: Level): boolean {
  return all.some((finding) => finding.acknowledged === null && levels.indexOf(finding.level) <= levels.indexOf(level));
}
