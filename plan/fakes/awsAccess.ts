import { z } from "zod";
import { type RecordedProgram, resourcesOfType } from "../program/recorded.ts";
import { textOf } from "../program/values.ts";
import type { PolicyStatement } from "./iam.ts";
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

/** Trust policies of roles, and policies of buckets: they name who is trusted. */
export const trustSchema = z.strictObject({
  Version: z.literal("2012-10-17"),
  Statement: z.array(
    statementSchema.extend({ Principal: z.union([z.literal("*"), z.record(z.string(), z.string())]), Resource: texts.optional() }),
  ),
});

/** The statements of every policy that a role has: its inline ones, and attached ones that the program made. */
export function statementsOfRole(program: RecordedProgram, role: string): readonly PolicyStatement[] {
  const matches = (reference: string | undefined) => reference === role;
  const inline = resourcesOfType(program, "aws:iam/rolePolicy:RolePolicy")
    .filter(({ inputs }) => matches(textOf(inputs.role)))
    .map(({ inputs }) => textOf(inputs.policy));
  const attached = resourcesOfType(program, "aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    .filter(({ inputs }) => matches(textOf(inputs.role)))
    .map(({ inputs }) => {
      const policyArn = textOf(inputs.policyArn);
      const own = resourcesOfType(program, "aws:iam/policy:Policy").find(({ outputs }) => textOf(outputs.arn) === policyArn);
      // A managed policy of AWS could allow anything; what cannot be checked must not pass as checked.
      if (own === undefined) throw new Error(`the policy ${policyArn} of the role ${role} is not a resource of the program`);
      return textOf(own.inputs.policy);
    });
  return [...inline, ...attached].flatMap((document) => {
    if (document === undefined) throw new Error(`a policy of the role ${role} is not known as text`);
    return policySchema.parse(JSON.parse(document)).Statement;
  });
}

/** Every SSM parameter that the program writes. The values are secrets: they go to the simulated store and nowhere else. */
export function collectParameters(program: RecordedProgram): ReadonlyMap<string, StoredSecret> {
  return new Map(
    resourcesOfType(program, "aws:ssm/parameter:Parameter").map(({ name, id, inputs, outputs }) => {
      const value = textOf(inputs.value);
      if (id === undefined || value === undefined) throw new Error(`the parameter ${name} has no value`);
      return [id, { name: id, id: textOf(outputs.arn) ?? "", key: keyArn(program, textOf(inputs.keyId)), value }];
    }),
  );
}

/** ARN of a key that is given by its id, ARN or alias. */
function keyArn(program: RecordedProgram, reference: string | undefined): string | undefined {
  if (reference === undefined) return undefined;
  const alias = resourcesOfType(program, "aws:kms/alias:Alias").find(({ id, outputs }) => [id, textOf(outputs.arn)].includes(reference));
  const target = alias === undefined ? reference : textOf(alias.inputs.targetKeyId);
  const key = resourcesOfType(program, "aws:kms/key:Key").find(({ id, outputs }) => [id, textOf(outputs.arn)].includes(target));
  return key === undefined ? reference : textOf(key.outputs.arn);
}
