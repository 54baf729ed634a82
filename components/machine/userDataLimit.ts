import type { Cloud } from "../config/schema.ts";

/**
 * Most bytes of user data. Both clouds count them before base64: AWS 16 KB (Amazon EC2 User Guide, "Run commands when you launch an
 * instance"), Azure "the maximum length of the binary array is 65535 bytes" (REST API, OSProfile.customData).
 */
export const userDataLimits: Readonly<Record<Cloud, number>> = { aws: 16_384, azure: 65_535 };

/** Bytes of user data as the clouds count them. `packed` is its base64 text. */
export function userDataBytes(packed: string): number {
  return Buffer.from(packed, "base64").length;
}
