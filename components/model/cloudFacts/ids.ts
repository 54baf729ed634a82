import type { Cloud } from "../../config/schema.ts";

/** Form of an ARN, in any partition. */
export const arn = (service: string, resource: string): RegExp =>
  new RegExp(`^arn:aws[a-z-]*:${service}:[a-z0-9-]*:\\d{12}:${resource}$`);

/** Form of an EC2 id: eight digits of old, seventeen today. */
export const ec2Id = (kind: string): RegExp => new RegExp(`^${kind}-([0-9a-f]{8}|[0-9a-f]{17})$`);

/** Form of an Azure id, which ignores case (Azure documentation, naming rules and restrictions). */
const azureId = (type: string): RegExp =>
  new RegExp(`^/subscriptions/[0-9a-f-]{36}/resourceGroups/[^/]+/providers/${type.replace(".", "\\.")}/[^/]+$`, "i");

export type IdForm = readonly [pattern: RegExp, words: string];

/** How the user names a key for disks, per cloud. */
export const encryptionKeyForms: Readonly<Record<Cloud, IdForm>> = {
  aws: [arn("kms", "key/[A-Za-z0-9-]+"), "the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/…"],
  azure: [azureId("Microsoft.Compute/diskEncryptionSets"), "the id of a disk encryption set"],
};
