import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";

export const folder = path.join(import.meta.dirname, "../../.github/workflows/");

const step = z.looseObject({
  name: z.string().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
  uses: z.string().optional(),
  run: z.string().optional(),
  if: z.string().optional(),
});
const workflow = z.looseObject({
  // A workflow without it would have what the repository's settings say.
  permissions: z.record(z.string(), z.string()),
  defaults: z.object({ run: z.object({ shell: z.string() }) }).optional(),
  jobs: z.record(
    z.string(),
    z.looseObject({
      "timeout-minutes": z.number(),
      if: z.string().optional(),
      environment: z.string().optional(),
      permissions: z.record(z.string(), z.string()).optional(),
      steps: z.array(step),
    }),
  ),
});

/** Text of every workflow by its file's name. */
export const texts: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(folder).map((file) => [file, readFileSync(path.join(folder, file), "utf8")]),
);

/** Text of the setup that jobs of tests share. */
export const setupText = readFileSync(path.join(folder, "../actions/setup/action.yml"), "utf8");

/** Every job; `at` names its file and itself, `inherited` and `shell` are the rights and the shell of its workflow. */
export const jobs = Object.entries(texts).flatMap(([file, text]) => {
  const { permissions, defaults, jobs: all } = workflow.parse(parse(text));
  const common = { inherited: permissions, shell: defaults?.run.shell };
  return Object.entries(all).map(([name, job]) => ({ at: `${file} ${name}`, ...common, ...job }));
});

/** Every step of every job; `writes` says whether its job may write somewhere, or sign in to a cloud. */
export const steps = jobs.flatMap(({ at, permissions, inherited, shell, steps: all }) =>
  all.map((one) => ({ at, shell, writes: Object.values(permissions ?? inherited).includes("write"), ...one })),
);

/** The script of a step, by its job and name. */
export function scriptOf(at: string, name: string) {
  const found = steps.find((one) => one.at === at && one.name === name);
  if (found?.run === undefined) throw new RangeError(`${at} has no script ${name}`);
  return found.run;
}
