import type { PlanDiff } from "../diff/compare.ts";
import type { Plan } from "../plan.ts";
import { planMarkdown } from "./markdown.ts";

export interface OutputFile {
  /** Path inside the folder, with `/`. */
  readonly path: string;
  readonly content: string;
}

/** The plan's two forms, and each machine's files. With a difference the Markdown says what changes. */
export function planFiles(plan: Plan, diff?: PlanDiff): readonly OutputFile[] {
  return [
    { path: "plan.md", content: planMarkdown(plan, diff) },
    { path: "plan.json", content: planJson(plan) },
    ...plan.machines.flatMap(({ name, files }) =>
      files.map(({ path, content }) => ({ path: `machines/${name}/${relativePath(path)}`, content })),
    ),
  ];
}

/** A machine's path inside a folder: `/etc/a` to `etc/a`, `C:\\a\\b` to `C/a/b`. No part leads out of it. */
export function relativePath(path: string): string {
  return path
    .replace(/^([A-Za-z]):/, "$1")
    .split(/[\\/]+/)
    .filter((part) => part !== "" && part !== "." && part !== "..")
    .join("/");
}

/** The same plan gives the same bytes. */
export function planJson(plan: Plan): string {
  return `${JSON.stringify(plan, null, 2)}\n`;
}
