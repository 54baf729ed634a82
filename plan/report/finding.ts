import { z } from "zod";

/** Levels of findings, worst first. */
export const levels = ["error", "warning", "note"] as const;

/** How bad a finding is: the machines will not work or are open, someone should look, someone should know. */
export type Level = (typeof levels)[number];

/** Something that a reviewer should look at. */
export const findingSchema = z
  .strictObject({
    id: z.string().describe("Stable name of the rule: single-nat-gateway."),
    level: z
      .enum(levels)
      .describe("error: will not work or is open; warning: someone should look; note: someone should know."),
    path: z.string().describe("Where: a path in the stack file, or the name of a resource or machine."),
    message: z.string().describe("What is so, one sentence."),
    remedy: z.string().describe("How to fix it, one sentence."),
  })
  .readonly();

/** Something that a reviewer should look at. */
export type Finding = z.output<typeof findingSchema>;
