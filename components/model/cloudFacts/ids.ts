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

/** How the user names what exists already, per cloud. */
export const idForms: Readonly<
  Record<Cloud, Record<"encryptionKey" | "capacityReservation" | "dedicatedHosts" | "securityGroup", IdForm>>
> = {
  aws: {
    encryptionKey: [arn("kms", "key/[A-Za-z0-9-]+"), "the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/…"],
    capacityReservation: [
      new RegExp(`${ec2Id("cr").source}|${arn("resource-groups", "group/.+").source}`),
      "the id of a capacity reservation, cr-…, or the ARN of a resource group of them",
    ],
    dedicatedHosts: [arn("resource-groups", "group/.+"), "the ARN of a host resource group"],
    securityGroup: [ec2Id("sg"), "the id of a security group, sg-…"],
  },
  azure: {
    encryptionKey: [azureId("Microsoft.Compute/diskEncryptionSets"), "the id of a disk encryption set"],
    capacityReservation: [
      azureId("Microsoft.Compute/capacityReservationGroups"),
      "the id of a capacity reservation group",
    ],
    dedicatedHosts: [azureId("Microsoft.Compute/hostGroups"), "the id of a group of dedicated hosts"],
    securityGroup: [azureId("Microsoft.Network/applicationSecurityGroups"), "the id of an application security group"],
  },
};
