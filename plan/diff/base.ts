import { z } from "zod";
import { findingSchema } from "../finding.ts";
import { billedSchema, list, planVersion } from "../plan.ts";

const baseSchema = z.looseObject({
  // What an older version lacks is optional here.
  version: z.int().min(1).max(planVersion),
  stack: z.string(),
  cluster: z.looseObject({
    name: z.string(),
    cloud: z.string(),
    kubernetes: z.string(),
    accountId: z.string().nullable().default(null),
  }),
  settings: z.record(z.string(), z.unknown()).optional(),
  pools: list(z.looseObject({ name: z.string(), autoscale: z.looseObject({ max: z.number() }).nullish() })).optional(),
  controlPlane: z.looseObject({ members: list(z.unknown()) }),
  resources: list(
    z.looseObject({
      urn: z.string(),
      type: z.string(),
      name: z.string(),
      custom: z.boolean(),
      existing: z.boolean().optional(),
      inputs: z.unknown(),
      options: z.record(z.string(), z.unknown()),
    }),
  ),
  machines: list(
    z.looseObject({
      name: z.string(),
      role: z.enum(["control-plane", "linux", "windows"]),
      count: z.number(),
      userData: z.looseObject({ sha256: z.string() }),
      files: list(z.looseObject({ path: z.string(), content: z.string() })),
    }),
  ),
  billed: billedSchema.optional(),
  findings: list(findingSchema),
});

export type BasePlan = z.output<typeof baseSchema>;

/** Reads the text of an older `plan.json`. Returns what is wrong with it as text. */
export function readBasePlan(text: string): BasePlan | string {
  try {
    const parsed = baseSchema.safeParse(JSON.parse(text));
    return parsed.success
      ? parsed.data
      : `it is no plan.json of version ${planVersion}; allowed: the plan.json of an earlier run`;
  } catch {
    return "it is not JSON";
  }
}
