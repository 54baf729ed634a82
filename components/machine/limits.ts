import type { Cloud } from "../config/schema.ts";

/**
 * Largest user data per cloud, in bytes as the cloud counts them. AWS counts before base64 (EC2 user guide, "Run commands at launch": 16 KB);
 * Azure counts the base64 text of customData (Azure REST API, OSProfile.customData: 65535 bytes).
 */
export const userDataLimits: Readonly<Record<Cloud, number>> = { aws: 16_384, azure: 65_535 };

/** Bytes of a packed payload as the cloud counts them. `packed` is the base64 text of the user data. */
export function userDataBytes(cloud: Cloud, packed: string): number {
  return cloud === "aws" ? Buffer.from(packed, "base64").length : packed.length;
}
