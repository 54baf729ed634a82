import { readFileSync } from "node:fs";
import path from "node:path";
import type { BasePlan } from "../../plan/diff/base.ts";
import type { Plan } from "../../plan/plan.ts";

const modules = path.join(import.meta.dirname, "../../node_modules/@pulumi");

/** Fields of an interface or class of a package's declarations. */
function fields(
  text: string,
  start: string,
): ReadonlyMap<string, { readonly optional: boolean; readonly type: string }> {
  const from = text.indexOf(start);
  if (from < 0) return new Map();
  const body = text.slice(from, text.indexOf("\n    }\n", from) + 1 || undefined).split(/\n}\n/)[0] ?? "";
  return new Map(
    [...body.matchAll(/^ +(?:readonly )?(\w+)(\??): (.+);$/gm)].map(([, name = "", mark = "", type = ""]) => [
      name,
      { optional: mark === "?" || type.includes("| undefined"), type },
    ]),
  );
}

/** What may be left out, and never is in the provider's answer: it keeps what was given. */
function computed(type: string): (field: readonly string[]) => boolean {
  const [pack = "", module = "", name = ""] = type
    .split(/[:/]/)
    .filter((_, index, all) => index < 2 || index === all.length - 1);
  const file = path.join(modules, pack, module, `${name.charAt(0).toLowerCase()}${name.slice(1)}.d.ts`);
  const text = readFileSync(file, "utf8");
  const nested = ["input", "output"].map((kind) =>
    readFileSync(path.join(modules, pack, `types/${kind}.d.ts`), "utf8"),
  );
  const inner = (of: string, index: number): ReturnType<typeof fields> => {
    const [, space = "", name = ""] = /puts\.(\w+)\.(\w+)/.exec(of) ?? [];
    const all = nested[index] ?? "";
    return fields(all.slice(all.indexOf(`namespace ${space} {`)), `interface ${name} {`);
  };
  return (keys) => {
    let [given, answered] = [fields(text, `interface ${name}Args {`), fields(text, `class ${name} extends`)];
    for (const [index, key] of keys.entries()) {
      const [own, back] = [given.get(key), answered.get(key)];
      if (own === undefined || back === undefined) return false;
      if (index === keys.length - 1) return own.optional && !back.optional;
      [given, answered] = [inner(own.type, 0), inner(back.type, 1)];
    }
    return false;
  };
}

/**
 * hashicorp/terraform-provider-aws: sent for gp3 alone (internal/service/ec2/ebs_volume.go); one of it and a
 * mixedInstancesPolicy, `ExactlyOneOf` (internal/service/autoscaling/group.go).
 */
const notSent = ["aws:ebs/volume:Volume throughput", "aws:autoscaling/group:Group launchTemplate"];

/** Computed inputs that a plan had and the next one leaves out, of what is not replaced. */
export function leftOut(old: BasePlan, plan: Plan, replaced: ReadonlySet<string>): readonly string[] {
  const next = new Map(plan.resources.map((each) => [each.urn, each]));
  return old.resources.flatMap(({ urn, type, inputs }) => {
    const now = next.get(urn);
    if (now === undefined || replaced.has(urn) || !/^(aws|azure-native):/.test(type)) return [];
    const gone = missing(inputs, now.inputs, []);
    if (gone.length === 0) return [];
    const isComputed = computed(type);
    return (
      gone
        // A shorter list is a list.
        .filter((keys) => !/^\d+$/.test(keys.at(-1) ?? "") && isComputed(keys.filter((key) => !/^\d+$/.test(key))))
        .map((keys) => `${type} ${keys.join(".")}`)
        .filter((each) => !notSent.includes(each))
    );
  });
}

function missing(old: unknown, now: unknown, at: readonly string[]): readonly (readonly string[])[] {
  if (typeof old !== "object" || old === null || typeof now !== "object" || now === null) return [];
  return Object.entries(old).flatMap(([key, value]) =>
    Reflect.get(now, key) === undefined ? [[...at, key]] : missing(value, Reflect.get(now, key), [...at, key]),
  );
}
