import { z } from "zod";
import { resourcesOfType, textOf } from "../../components/gates/values.ts";
import type { ObjectStore } from "../decode/userData.ts";
import type { RecordedProgram } from "../program/recorded.ts";
import type { StoredSecret } from "./machines.ts";

const texts = z.union([z.string().transform((text) => [text]), z.array(z.string())]);

const statementSchema = z.strictObject({
  Sid: z.string().optional(),
  Effect: z.enum(["Allow", "Deny"]),
  Action: texts,
  Resource: texts,
  Condition: z.record(z.string(), z.record(z.string(), texts)).default({}),
});

const policySchema = z.strictObject({
  Version: z.literal("2012-10-17"),
  Statement: z.union([statementSchema.transform((statement) => [statement]), z.array(statementSchema)]),
});

/** A role's statements, of inline policies and of attached ones that the program made. */
export function statementsOfRole(program: RecordedProgram, role: string): readonly PolicyStatement[] {
  const inline = resourcesOfType(program, "aws:iam/rolePolicy:RolePolicy")
    .filter(({ inputs }) => textOf(inputs.role) === role)
    .map(({ inputs }) => textOf(inputs.policy));
  const attached = resourcesOfType(program, "aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    .filter(({ inputs }) => textOf(inputs.role) === role)
    .map(({ inputs }) => {
      const policyArn = textOf(inputs.policyArn);
      const own = resourcesOfType(program, "aws:iam/policy:Policy").find(
        ({ outputs }) => textOf(outputs.arn) === policyArn,
      );
      // A managed policy of AWS could allow anything; what cannot be checked must not pass as checked.
      if (own === undefined)
        throw new Error(`the policy ${policyArn} of the role ${role} is not a resource of the program`);
      return textOf(own.inputs.policy);
    });
  return [...inline, ...attached].flatMap((document) => {
    if (document === undefined) throw new Error(`a policy of the role ${role} is not known as text`);
    return policySchema.parse(JSON.parse(document)).Statement;
  });
}

/** The secret values go to the simulated store and nowhere else. */
export function collectParameters(program: RecordedProgram): ReadonlyMap<string, StoredSecret> {
  return new Map(
    resourcesOfType(program, "aws:ssm/parameter:Parameter").map(({ name, id, inputs, outputs }) => {
      const value = textOf(inputs.value);
      if (id === undefined || value === undefined) throw new Error(`the parameter ${name} has no value`);
      return [id, { name: id, id: textOf(outputs.arn) ?? "", key: keyArn(program, textOf(inputs.keyId)), value }];
    }),
  );
}

function keyArn(program: RecordedProgram, reference: string | undefined): string | undefined {
  if (reference === undefined) return undefined;
  const alias = resourcesOfType(program, "aws:kms/alias:Alias").find(({ id, outputs }) =>
    [id, textOf(outputs.arn)].includes(reference),
  );
  const target = alias === undefined ? reference : textOf(alias.inputs.targetKeyId);
  const key = resourcesOfType(program, "aws:kms/key:Key").find(({ id, outputs }) =>
    [id, textOf(outputs.arn)].includes(target),
  );
  return key === undefined ? reference : textOf(key.outputs.arn);
}

/** What the program puts into S3, by `bucket/key`. */
export function storedObjects(program: RecordedProgram): ReadonlyMap<string, Buffer> {
  return new Map(
    ["aws:s3/bucketObjectv2:BucketObjectv2", "aws:s3/bucketObject:BucketObject"]
      .flatMap((type) => resourcesOfType(program, type))
      .map(({ name, inputs }) => {
        const content = textOf(inputs.content);
        if (content === undefined) throw new Error(`the object ${name} has no content`);
        return [`${textOf(inputs.bucket) ?? ""}/${textOf(inputs.key) ?? ""}`, Buffer.from(content)] as const;
      }),
  );
}

/**
 * Objects as a machine reads them.
 *
 * @param role reads with its rights only; default: everything is there. @param objects default: the program's
 */
export function awsObjects(
  program: RecordedProgram,
  role?: string,
  objects: ReadonlyMap<string, Buffer> = storedObjects(program),
): ObjectStore {
  const statements = role === undefined ? undefined : statementsOfRole(program, role);
  const arns = new Map(
    resourcesOfType(program, "aws:s3/bucket:Bucket").map(({ outputs }) => [
      textOf(outputs.bucket),
      textOf(outputs.arn),
    ]),
  );
  return (bucket, key) => {
    const request = { action: "s3:GetObject", resource: `${arns.get(bucket)}/${key}` };
    return statements === undefined || allows([{ Statement: statements }], request)
      ? objects.get(`${bucket}/${key}`)
      : undefined;
  };
}

export interface PolicyStatement {
  readonly Effect: "Allow" | "Deny";
  readonly Action: readonly string[];
  /** Absent in trust policies only. */
  readonly Resource?: readonly string[] | undefined;
  /** Operator, condition key, values. */
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>> | undefined;
}

export interface Call {
  /** `ssm:GetParameter`. */
  readonly action: string;
  /** ARN of what is touched, or `*` for a call that names nothing. */
  readonly resource: string;
  /** `kms:EncryptionContext:PARAMETER_ARN`. */
  readonly context?: Readonly<Record<string, string>>;
}

/**
 * A matching Deny wins, else one Allow is needed (AWS IAM User Guide, "Policy evaluation logic"). Unknown operators
 * are errors.
 */
export function allows(policies: readonly { readonly Statement: readonly PolicyStatement[] }[], call: Call): boolean {
  const { action, resource, context = {} } = call;
  const onIt = ({ Resource = [] }: PolicyStatement): boolean => Resource.some((pattern) => matches(pattern, resource));
  return decide(
    policies.flatMap(({ Statement }) => Statement).filter((each) => takes(each, action, context) && onIt(each)),
  );
}

function decide(matching: readonly PolicyStatement[]): boolean {
  return matching.length > 0 && matching.every(({ Effect }) => Effect === "Allow");
}

function takes(statement: PolicyStatement, action: string, context: Readonly<Record<string, string>>): boolean {
  const found = new Map(Object.entries(context).map(([key, value]) => [key.toLowerCase(), value]));
  return (
    // Only resources are compared with regard to case.
    statement.Action.some((pattern) => matches(pattern.toLowerCase(), action.toLowerCase())) &&
    Object.entries(statement.Condition ?? {}).every(([operator, keys]) =>
      Object.entries(keys).every(([key, wanted]) => holds(operator, [wanted].flat(), found.get(key.toLowerCase()))),
    )
  );
}

function holds(operator: string, wanted: readonly string[], found: string | undefined): boolean {
  switch (operator) {
    case "StringEquals":
    case "Bool":
      return found !== undefined && wanted.includes(found);
    case "StringNotEquals":
      return found === undefined || !wanted.includes(found);
    // A call here has one value.
    case "ForAnyValue:StringNotEquals":
      return found !== undefined && !wanted.includes(found);
    case "Null":
      return wanted.includes(String(found === undefined));
    // True without the key, too (IAM User Guide, "Set operators for multivalued context keys").
    case "ForAllValues:StringEquals":
      return found === undefined || wanted.includes(found);
    case "ArnLike":
    case "StringLike":
      return found !== undefined && wanted.some((pattern) => matches(pattern, found));
    default:
      throw new Error(`the evaluator does not know the condition operator ${operator}`);
  }
}

/** IAM's wildcards: `*` any characters, `?` one. */
export function matches(pattern: string, text: string): boolean {
  const parts = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${parts}$`, "s").test(text);
}
