import { globSync, readFileSync } from "node:fs";
import path from "node:path";

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
  "Microsoft.Compute/galleries/images/versions/read": ["compute", "GalleryImageVersion"],
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
        const [, name = "", base = ""] = /^(\w+)\((.*?)\):/.exec(part) ?? [];
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
  const own = base.startsWith("_") ? [] : [...fieldsOf(packages, folder, base)];
  return new Map([...own, ...now, ...before]);
}

/** What Microsoft's models have against an answer: fields that there are not, and values of another type. */
export function answerProblems(packages: string, right: string, answer: unknown): readonly string[] {
  const [folder, type, isList] = answers[right] ?? [];
  if (folder === undefined || type === undefined) return [`nobody has a model of ${right}`];
  const value: unknown = isList ? Reflect.get(Object(answer), "value") : answer;
  return [...problems(packages, folder, isList || Array.isArray(answer) ? `list[${type}]` : type, value, right)];
}

function* problems(packages: string, folder: string, type: string, value: unknown, at: string): Generator<string> {
  const own = type.replace(/^Optional\[(.*)\]$/, "$1").replaceAll(/"?_models\.(\w+)"?/g, "$1");
  const [, item] = /^(?:list|List)?\[(.*)\]$/.exec(own) ?? [];
  const wrong = `${at}: ${JSON.stringify(value)} is no ${own}`;
  if (item !== undefined) {
    if (!Array.isArray(value)) yield wrong;
    else for (const [index, each] of value.entries()) yield* problems(packages, folder, item, each, `${at}.${index}`);
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
    if (type !== undefined) yield* problems(packages, folder, type, value, `${at}.${key}`);
    else if (nested.length === 0) yield `${at}.${key}: there is no such field`;
    else yield* members(packages, folder, new Map(nested), Object.entries(Object(value)), `${at}.${key}`);
  }
}
