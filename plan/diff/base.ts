import { z } from "zod";
import { fromJson } from "../../components/model/json.ts";
import { findingSchema } from "../finding.ts";
import { billedSchema, list, planVersion } from "../plan.ts";
import { nameOfUrn } from "../program/recorded.ts";

const baseSchema = z.looseObject({
  version: z.literal(planVersion),
  stack: z.string(),
  cluster: z.looseObject({
    name: z.string(),
    cloud: z.string(),
    kubernetes: z.string(),
    accountId: z.string().nullable(),
  }),
  settings: z.record(z.string(), z.unknown()),
  pools: list(z.looseObject({ name: z.string(), autoscale: z.looseObject({ max: z.number() }).nullable() })),
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
  billed: billedSchema,
  findings: list(findingSchema),
});

export type BasePlan = z.output<typeof baseSchema>;

/** Reads the text of an older `plan.json`. Returns what is wrong with it as text. */
export function readBasePlan(text: string): BasePlan | string {
  const { data } = baseSchema.safeParse(fromJson(text));
  return data ?? `it is no plan.json of version ${planVersion}; allowed: the plan.json of an earlier run`;
}

interface Named {
  readonly urn: string;
  readonly type: string;
  readonly name: string;
  readonly parent?: string | null | undefined;
  readonly options: BasePlan["resources"][number]["options"];
}

const given = z.looseObject({
  aliases: z.array(z.object({ urn: z.string(), parent: z.string().optional() })).default([]),
});

/**
 * URNs of today to those of the base, of resources that the base has under an alias: their own, or by their parent's
 * (pulumi/pulumi, pkg/resource/deploy/step_generator.go, `getOldResource`).
 *
 * @param now in the order of registration
 */
export function formerUrns(
  base: readonly { readonly urn: string }[],
  now: readonly Named[],
): ReadonlyMap<string, string> {
  const known = new Set(base.map(({ urn }) => urn));
  const former = new Map<string, string>();
  for (const each of now) {
    const found = known.has(each.urn) ? undefined : candidates(each, former).find((urn) => known.has(urn));
    if (found !== undefined) former.set(each.urn, found);
  }
  return former;
}

function candidates(
  { urn, type, name, parent, options }: Named,
  former: ReadonlyMap<string, string>,
): readonly string[] {
  const { aliases } = given.parse(options);
  const own = aliases.map((alias) => {
    const old = former.get(alias.parent ?? "");
    return old === undefined ? alias.urn : childOf(old, typeOf(alias.urn), nameOfUrn(alias.urn));
  });
  const old = former.get(parent ?? "");
  if (old === undefined) return own;
  // A name that begins with the parent's is taken to follow it.
  const prefix = nameOfUrn(parent ?? "");
  const inherited = [{ type, name }, ...own.map((each) => ({ type: typeOf(each), name: nameOfUrn(each) }))].map(
    (each) =>
      childOf(
        old,
        each.type,
        each.name.startsWith(prefix) ? nameOfUrn(old) + each.name.slice(prefix.length) : each.name,
      ),
  );
  return [...own, ...inherited].filter((each) => each !== urn);
}

const typeOf = (urn: string): string => urn.split("::")[2]?.split("$").at(-1) ?? "";

const childOf = (parent: string, type: string, name: string): string =>
  `${parent.split("::").slice(0, 3).join("::")}$${type}::${name}`;
