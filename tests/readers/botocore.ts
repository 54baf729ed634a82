import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { z } from "zod";

const named = z.object({ shape: z.string() });
const number = z.number().optional();
const shapeSchema = z.object({
  type: z.string(),
  members: z.record(z.string(), named).optional(),
  required: z.array(z.string()).default([]),
  union: z.boolean().default(false),
  member: named.optional(),
  key: named.optional(),
  value: named.optional(),
  enum: z.array(z.string()).optional(),
  pattern: z.string().optional(),
  ...{ min: number, max: number },
  error: z.object({ code: z.string().optional() }).optional(),
});
type Shape = z.output<typeof shapeSchema>;
const model = z.object({
  operations: z.record(
    z.string(),
    z.object({ input: named.optional(), output: named.optional(), errors: z.array(named).default([]) }),
  ),
  shapes: z.record(z.string(), shapeSchema),
});

/** Folders of botocore by the services of rights, where they have another name. */
const folders: Readonly<Record<string, string>> = { elasticloadbalancing: "elbv2", servicequotas: "service-quotas" };
const models = new Map<string, z.output<typeof model>>();

/** AWS's own model of a service, as botocore ships it. @param packages folder of the Python packages */
function modelOf(packages: string, service: string): z.output<typeof model> {
  const folder = path.join(packages, "botocore/data", folders[service] ?? service);
  const [file = ""] = globSync("*/service-2.json.gz", { cwd: folder }).toSorted().reverse();
  const found =
    models.get(service) ?? model.parse(JSON.parse(String(gunzipSync(readFileSync(path.join(folder, file))))));
  models.set(service, found);
  return found;
}

/** A pattern of a model holds for the whole text. */
function patternOf(pattern: string): RegExp {
  const isFree = pattern.startsWith("(?i)");
  const whole = `^(?:${pattern.replace("(?i)", "")})$`;
  try {
    return new RegExp(whole, isFree ? "sui" : "su");
  } catch {
    return new RegExp(whole, isFree ? "si" : "s");
  }
}

/** Shapes of a call's service, and the names of those of its input and output; without a call of this name, neither. */
function shapesOf(packages: string, right: string) {
  const [service = "", operation = ""] = right.split(":");
  const { operations, shapes } = modelOf(packages, service);
  const found = operations[operation];
  return { shapes, isCall: found !== undefined, input: found?.input?.shape, output: found?.output?.shape };
}

/** What AWS's model has against a call's input or output. */
export function modelProblems(
  packages: string,
  right: string,
  side: "input" | "output",
  value: unknown,
): readonly string[] {
  const { shapes, isCall, [side]: top } = shapesOf(packages, right);
  if (!isCall) return [`there is no ${right}`];
  return top === undefined ? [] : shapeProblems(shapes, top, value, right);
}

/**
 * What AWS's model has against a value of a shape: members, types, and enums, patterns, lengths and bounds, which
 * botocore's own validator leaves out.
 */
const shapeProblems = (shapes: Readonly<Record<string, Shape>>, name: string, value: unknown, at: string) => [
  ...problems(shapes, name, value, at),
];

/** Codes of errors that the model knows of a call; EC2's knows none. */
export function modelErrors(packages: string, right: string): readonly string[] {
  const [service = "", operation = ""] = right.split(":");
  const { operations, shapes } = modelOf(packages, service);
  return operations[operation]?.errors.flatMap(({ shape }) => [shape, shapes[shape]?.error?.code ?? shape]) ?? [];
}

function* problems(
  shapes: Readonly<Record<string, Shape>>,
  name: string,
  value: unknown,
  at: string,
): Generator<string> {
  const shape = shapes[name];
  if (shape === undefined) throw new Error(`the model has no ${name}`);
  const { type, members = {}, min = -Infinity, max = Infinity } = shape;
  const within = (amount: number, what: string): readonly string[] =>
    amount < min || amount > max ? [`${at}: ${amount} ${what}; allowed: ${min} to ${max}`] : [];
  const wrong = `${at}: ${JSON.stringify(value)} is no ${type}`;
  if (type === "structure") {
    if (typeof value !== "object" || value === null) return void (yield wrong);
    const given = Object.entries(value).filter(([, each]) => each !== undefined);
    for (const each of shape.required) if (!given.some(([key]) => key === each)) yield `${at}.${each}: is missing`;
    if (shape.union && given.length !== 1) yield `${at}: wants one of ${Object.keys(members).join()}`;
    for (const [key, each] of given) {
      const member = members[key];
      if (member === undefined) yield `${at}.${key}: there is no such member`;
      else yield* problems(shapes, member.shape, each, `${at}.${key}`);
    }
  } else if (type === "list") {
    if (!Array.isArray(value)) return void (yield wrong);
    yield* within(value.length, "items");
    for (const [index, each] of value.entries())
      yield* problems(shapes, shape.member?.shape ?? "", each, `${at}.${index}`);
  } else if (type === "map") {
    for (const [key, each] of Object.entries(Object(value))) {
      yield* problems(shapes, shape.key?.shape ?? "", key, `${at} key`);
      yield* problems(shapes, shape.value?.shape ?? "", each, `${at}.${key}`);
    }
  } else if (type === "string") {
    if (typeof value !== "string") return void (yield wrong);
    yield* within([...value].length, "characters");
    if (shape.enum?.includes(value) === false) yield `${at}: ${value} is none of ${shape.enum.slice(0, 20).join()}`;
    if (shape.pattern !== undefined && !patternOf(shape.pattern).test(value))
      yield `${at}: ${value.slice(0, 200)} does not match ${shape.pattern}`;
  } else if (type === "boolean") {
    if (typeof value !== "boolean") yield wrong;
  } else if (/^(integer|long|float|double)$/.test(type)) {
    if (typeof value !== "number" || (/^(integer|long)$/.test(type) && !Number.isInteger(value))) yield wrong;
    else yield* within(value, "");
  }
}
