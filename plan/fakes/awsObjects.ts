import { type RecordedProgram, resourcesOfType } from "../program/recorded.ts";
import { textOf } from "../program/values.ts";
import { statementsOfRole } from "./awsAccess.ts";
import { allows } from "./iam.ts";

/** An object of a simulated bucket by its bucket and key; `undefined` when there is none, or the reader may not read it. */
export type SimulatedObjects = (bucket: string, key: string) => Buffer | undefined;

/** Every object that the program puts into a bucket of S3, by `bucket/key`. */
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
 * The objects of `storedObjects` as a machine reads them.
 *
 * @param role reads with the rights of this role only; without it every object is there.
 */
export function awsObjects(program: RecordedProgram, role?: string): SimulatedObjects {
  const objects = storedObjects(program);
  const statements = role === undefined ? undefined : statementsOfRole(program, role);
  const arns = new Map(
    resourcesOfType(program, "aws:s3/bucket:Bucket").map(({ outputs }) => [textOf(outputs.bucket), textOf(outputs.arn)]),
  );
  return (bucket, key) => {
    const request = { action: "s3:GetObject", resource: `${arns.get(bucket)}/${key}` };
    return statements === undefined || allows([{ Statement: statements }], request) ? objects.get(`${bucket}/${key}`) : undefined;
  };
}
