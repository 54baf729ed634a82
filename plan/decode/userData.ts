import { decodeLinux } from "./linux.ts";
import type { DecodedUserData } from "./machine.ts";
import type { ObjectStore } from "./scriptsObject.ts";
import { decodeWindows } from "./windows.ts";

/**
 * Reads user data of either system, recognised by its first bytes: gzip or a cloud-config is Linux.
 *
 * @param objects the store from which a machine fetches what its user data has no room for.
 */
export function decodeUserData(userData: Buffer, objects?: ObjectStore): DecodedUserData {
  const gzip = userData[0] === 0x1f && userData[1] === 0x8b;
  return gzip || userData.subarray(0, 1).toString() === "#" ? decodeLinux(userData, objects) : decodeWindows(userData, objects);
}
