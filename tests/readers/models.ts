import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import type { Context } from "mocha";
import { z } from "zod";
import { messageOf } from "../../components/model/messages.ts";
import { createProgress, findOnPath } from "../../rehearsal/host/command.ts";
import { defaultCache, withLock, withWorkFolder } from "../../rehearsal/programs/catalog.ts";
import { skipIf } from "../support/skip.ts";

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
function patternOf(pattern: string) {
  const isFree = pattern.startsWith("(?i)");
  const whole = `^(?:${pattern.replace("(?i)", "")})$`;
  try {
    return new RegExp(whole, isFree ? "sui" : "su");
  } catch {
    return new RegExp(whole, isFree ? "si" : "s");
  }
}

/** What AWS's model has against a call's input or output. */
export function modelProblems(
  packages: string,
  right: string,
  side: "input" | "output",
  value: unknown,
): readonly string[] {
  const [service = "", operation = ""] = right.split(":");
  const { operations, shapes } = modelOf(packages, service);
  const found = operations[operation];
  if (found === undefined) return [`there is no ${right}`];
  const top = found[side]?.shape;
  const issues = top === undefined ? [] : (readerOf(shapes, top).safeParse(value).error?.issues ?? []);
  return issues.map(({ path: at, message }) => `${[right, ...at].join(".")}: ${message}`);
}

const readers = new Map<Shape, z.ZodType>();

/** With enums, patterns, lengths and bounds, which botocore's own validator leaves out. */
function readerOf(shapes: Readonly<Record<string, Shape>>, name: string): z.ZodType {
  const shape = shapes[name];
  if (shape === undefined) throw new Error(`the model has no ${name}`);
  const reader = readers.get(shape) ?? readerFor(shape, (of) => z.lazy(() => readerOf(shapes, of?.shape ?? "")));
  readers.set(shape, reader);
  return reader;
}

function readerFor(shape: Shape, of: (named: Shape["member"]) => z.ZodType): z.ZodType {
  const { type, members = {}, min = -Infinity, max = Infinity, enum: names, pattern } = shape;
  if (type === "structure") {
    const fields = Object.entries(members).map(([name, member]): [string, z.ZodType] => [
      name,
      shape.required.includes(name) ? of(member) : of(member).optional(),
    ]);
    const isOne = (given: object) => Object.values(given).filter((each) => each !== undefined).length === 1;
    return z
      .strictObject(Object.fromEntries(fields))
      .refine((given) => !shape.union || isOne(given), "wants one member");
  }
  if (type === "list") return z.array(of(shape.member)).min(min).max(max);
  if (type === "map") {
    const key = of(shape.key);
    return z
      .record(z.string(), of(shape.value))
      .refine((given) => Object.keys(given).every((each) => key.safeParse(each).success), "has another key");
  }
  if (type === "string")
    return z
      .string()
      .min(min)
      .max(max)
      .regex(pattern === undefined ? /^/ : patternOf(pattern))
      .refine((given) => names?.includes(given) ?? true, `is none of ${names?.slice(0, 20).join()}`);
  if (type === "boolean") return z.boolean();
  if (/^(integer|long)$/.test(type)) return z.int().min(min).max(max);
  return /^(float|double)$/.test(type) ? z.number().min(min).max(max) : z.unknown();
}

/** Codes of errors that the model knows of a call; EC2's knows none. */
export function modelErrors(packages: string, right: string): readonly string[] {
  const [service = "", operation = ""] = right.split(":");
  const { operations, shapes } = modelOf(packages, service);
  return operations[operation]?.errors.flatMap(({ shape }) => [shape, shapes[shape]?.error?.code ?? shape]) ?? [];
}

/** Microsoft's package below azure/mgmt, class, and whether an answer is a list of them, by the rights of calls. */
const answers: Readonly<Record<string, readonly [folder: string, type: string, isList?: true]>> = {
  "Microsoft.Resources/subscriptions/read": ["resource/subscriptions", "Subscription"],
  "Microsoft.Resources/subscriptions/locations/read": ["resource/subscriptions", "Location", true],
  "Microsoft.Resources/subscriptions/providers/read": ["resource/resources", "Provider", true],
  "Microsoft.Resources/subscriptions/resourceGroups/read": ["resource/resources", "ResourceGroup"],
  "Microsoft.Authorization/locks/read": ["resource/locks", "ManagementLockObject", true],
  "Microsoft.Authorization/denyAssignments/read": ["authorization/v2022_04_01", "DenyAssignment", true],
  "Microsoft.Authorization/permissions/read": ["authorization/v2022_04_01", "Permission", true],
  "Microsoft.Authorization/roleAssignments/read": ["authorization/v2022_04_01", "RoleAssignment", true],
  "Microsoft.Compute/skus/read": ["compute", "ResourceSku", true],
  "Microsoft.Compute/locations/usages/read": ["compute", "Usage", true],
  "Microsoft.Network/locations/usages/read": ["network", "Usage", true],
  "Microsoft.Compute/virtualMachineScaleSets/read": ["compute", "VirtualMachineScaleSet", true],
  "Microsoft.Compute/virtualMachines/read": ["compute", "VirtualMachine", true],
  "Microsoft.Features/providers/features/read": ["resource/features", "FeatureResult"],
  "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read": ["compute", "VirtualMachineImage"],
  "Microsoft.Compute/galleries/images/read": ["compute", "GalleryImage"],
  "Microsoft.Compute/galleries/images/versions/read": ["compute", "GalleryImageVersion", true],
  "Microsoft.Compute/diskEncryptionSets/read": ["compute", "DiskEncryptionSet"],
  "Microsoft.Network/virtualNetworks/subnets/read": ["network", "Subnet"],
  "Microsoft.PolicyInsights/checkPolicyRestrictions/action": ["policyinsights", "CheckRestrictionsResult"],
};

type Fields = ReadonlyMap<string, string>;
const classes = new Map<string, readonly [base: string, body: string]>();

/** Fields of a class with their types in Python, as both of Microsoft's generators write them. */
function fieldsOf(packages: string, folder: string, type: string): Fields {
  const models = path.join(packages, "azure/mgmt", folder, "models");
  if (!classes.has(`${folder} ${type}`))
    for (const file of globSync("_models*.py", { cwd: models }))
      for (const part of readFileSync(path.join(models, file), "utf8").split(/^class /m)) {
        const [, name = "", base = ""] = /^(\w+)\(\s*([^)]*?)\s*\):/.exec(part) ?? [];
        classes.set(`${folder} ${name}`, [base, part]);
      }
  const [base = "", body = ""] = classes.get(`${folder} ${type}`) ?? [];
  if (body === "") throw new Error(`Microsoft has no ${folder} ${type}`);
  const now = [...body.matchAll(/^ {4}(\w+): (.+) = rest_field\(([^)]*)\)/gm)].map(
    ([, name = "", of = "", options = ""]): [string, string] => [/name="(\w+)"/.exec(options)?.[1] ?? name, of],
  );
  const before = [...body.matchAll(/"key":\s*"([\w.]+)",\s*"type":\s*"(.+?)"/g)].map(
    ([, name = "", of = ""]): [string, string] => [name, of],
  );
  return new Map([...(base.startsWith("_") ? [] : [...fieldsOf(packages, folder, base)]), ...now, ...before]);
}

/** What Microsoft's models have against an answer: fields that there are not, and values of another type. */
export function answerProblems(packages: string, right: string, answer: unknown): readonly string[] {
  const [folder, type, isList] = answers[right] ?? [];
  if (folder === undefined || type === undefined) return [`nobody has a model of ${right}`];
  const value: unknown = isList ? Reflect.get(Object(answer), "value") : answer;
  return [...fieldProblems(packages, folder, isList || Array.isArray(answer) ? `list[${type}]` : type, value, right)];
}

function* fieldProblems(packages: string, folder: string, type: string, value: unknown, at: string): Generator<string> {
  const own = type.replace(/^Optional\[(.*)\]$/, "$1").replaceAll(/"?_models\.(\w+)"?/g, "$1");
  const [, item] = /^(?:list|List)?\[(.*)\]$/.exec(own) ?? [];
  const wrong = `${at}: ${JSON.stringify(value)} is no ${own}`;
  if (item !== undefined) {
    if (!Array.isArray(value)) yield wrong;
    else
      for (const [index, each] of value.entries()) yield* fieldProblems(packages, folder, item, each, `${at}.${index}`);
  } else if (/^(str|Union\[str|Literal|iso-8601|datetime)/.test(own)) {
    if (typeof value !== "string") yield wrong;
  } else if (/^(int|float|bool)$/.test(own)) {
    if (typeof value !== (own === "bool" ? "boolean" : "number")) yield wrong;
  } else if (/^[A-Z]\w+$/.test(own)) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return void (yield wrong);
    yield* members(packages, folder, fieldsOf(packages, folder, own), Object.entries(value), at);
  }
}

/** The older generator writes what is nested as `properties.level`. */
function* members(
  packages: string,
  folder: string,
  fields: Fields,
  given: readonly (readonly [string, unknown])[],
  at: string,
): Generator<string> {
  for (const [key, value] of given) {
    const type = fields.get(key);
    const nested = [...fields].flatMap(([name, of]): [string, string][] =>
      name.startsWith(`${key}.`) ? [[name.slice(key.length + 1), of]] : [],
    );
    if (type !== undefined) yield* fieldProblems(packages, folder, type, value, `${at}.${key}`);
    else if (nested.length === 0) yield `${at}.${key}: there is no such field`;
    else yield* members(packages, folder, new Map(nested), Object.entries(Object(value)), `${at}.${key}`);
  }
}

const run = promisify(execFile);
const requirements = path.join(import.meta.dirname, "requirements.txt");

/**
 * Folder of the Python packages of requirements.txt, for PYTHONPATH: installed once, into the cache. Without Python and
 * pip the test is skipped, with STRICT=1 it fails.
 */
export async function pythonPackages(test: Context) {
  test.timeout(10 * 60_000);
  const python = await findOnPath("python3", process.env.PATH ?? "");
  skipIf(test, python === undefined ? "python3 is not on PATH" : undefined);
  const { stdout } = await run("python3", ["--version"]);
  const hash = createHash("sha256").update(stdout).update(readFileSync(requirements));
  const cache = path.join(defaultCache(), "../python");
  const folder = path.join(cache, hash.digest("hex").slice(0, 12));
  await mkdir(cache, { recursive: true });
  const problem = await withLock(path.join(cache, "lock"), createProgress(), async () => {
    if (existsSync(folder)) return undefined;
    await withWorkFolder(cache, async (work) => {
      const args = ["--quiet", "--no-deps", "--only-binary", ":all:", "--no-compile", "--target", work];
      await run("python3", ["-m", "pip", "install", ...args, "--requirement", requirements]);
      await rename(work, folder);
    });
    return undefined;
  }).catch((error: unknown) => {
    if (/No module named pip/.test(messageOf(error))) return "python3 has no pip";
    throw error;
  });
  skipIf(test, problem);
  return folder;
}
