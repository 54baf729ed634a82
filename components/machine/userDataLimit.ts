/** Bytes of user data as the clouds count them. `packed` is its base64 text. */
export function userDataBytes(packed: string): number {
  return Buffer.from(packed, "base64").length;
}
