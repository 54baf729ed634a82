import { type Finding, type Level, levels } from "./finding.ts";
import { contentRules } from "./rules/content.ts";
import type { FindingInput } from "./rules/rule.ts";
import { stackRules } from "./rules/stack.ts";

export type { FindingInput } from "./rules/rule.ts";
export { type Finding, type Level, levels };

/** Everything that a reviewer should look at, worst first, then by rule and place. */
export function findings(input: FindingInput): readonly Finding[] {
  const order = (finding: Finding) => `${levels.indexOf(finding.level)} ${finding.id} ${finding.path}`;
  return [...stackRules, ...contentRules]
    .flatMap((rule) => rule(input))
    .sort((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0));
}

/** Whether any finding is at a level or worse. */
export function reaches(all: readonly Finding[], level: Level): boolean {
  return all.some((finding) => levels.indexOf(finding.level) <= levels.indexOf(level));
}
