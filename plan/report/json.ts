import type { Plan } from "../plan.ts";

/** The plan as `plan.json`. The same plan gives the same bytes. */
export function planJson(plan: Plan): string {
  return `${JSON.stringify(plan, null, 2)}\n`;
}
