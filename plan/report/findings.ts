import { type Finding, type Level, levels } from "../finding.ts";
import { addOnRules } from "./rules/addOns.ts";
import { contentRules, sizeRules } from "./rules/content.ts";
import type { FindingInput, Found } from "./rules/rule.ts";
import { identityRules, stackRules } from "./rules/stack.ts";

export type { FindingInput } from "./rules/rule.ts";
export { type Level, levels };

/** Findings that cannot be acknowledged: anyone who reads the user data has the secret. */
const neverAccepted = ["secret-in-the-open"];

/** Orders places as a reader counts: `pools[2]` before `pools[10]`. */
const collator = new Intl.Collator("en", { numeric: true });

/** Everything that a reviewer should look at, each once, worst first, then by rule and place. */
export function findings(input: FindingInput): readonly Finding[] {
  const found = [...stackRules, ...sizeRules, ...addOnRules, ...identityRules, ...contentRules].flatMap(
    (rule) => rule(input) || [],
  );
  const all = [...found, ...unusedReasons(input, found)];
  const { acknowledge } = input.spec;
  const accepted = (id: string): string | null =>
    Object.hasOwn(acknowledge, id) && !neverAccepted.includes(id) ? (acknowledge[id] ?? null) : null;
  const once = new Map(all.map((each) => [`${each.id} ${each.path} ${each.message}`, each]));
  return [...once.values()]
    .map((each) => ({ ...each, acknowledged: accepted(each.id) }))
    .sort(
      (a, b) =>
        levels.indexOf(a.level) - levels.indexOf(b.level) ||
        collator.compare(a.id, b.id) ||
        collator.compare(a.path, b.path),
    );
}

/** An acknowledged finding that does not occur is mistyped or obsolete. */
function unusedReasons({ spec }: FindingInput, found: readonly Found[]): readonly Found[] {
  return Object.keys(spec.acknowledge)
    .filter((id) => !found.some((each) => each.id === id) || neverAccepted.includes(id))
    .map((id) => ({
      id: "acknowledged-nothing",
      level: "note",
      path: `config.fenestra:acknowledge["${id}"]`,
      message: neverAccepted.includes(id)
        ? `The finding ${id} cannot be accepted.`
        : `The plan has no finding ${id} to accept.`,
      remedy: "Take the reason out, or correct the finding's name.",
    }));
}

/** Whether any finding that is not acknowledged is at a level or worse. */
export function reaches(all: readonly Finding[], level: Level): boolean {
  return all.some((finding) => finding.acknowledged === null && levels.indexOf(finding.level) <= levels.indexOf(level));
}
