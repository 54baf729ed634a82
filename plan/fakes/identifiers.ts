import { createHash } from "node:crypto";
import { addressAt, addressCount, cidr } from "../../components/model/cidr.ts";

/** A digest that depends on the parts alone: the same in every run. */
export function digest(...parts: readonly string[]): Buffer {
  return createHash("sha256").update(parts.join("\0")).digest();
}

/** At most 64 digits that follow from the parts. */
export function hex(length: number, ...parts: readonly string[]): string {
  return digest(...parts)
    .toString("hex")
    .slice(0, length);
}

export function uuid(...parts: readonly string[]): string {
  const digits = hex(32, ...parts);
  const variant = ((Number.parseInt(digits.slice(16, 17), 16) & 3) | 8).toString(16);
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    variant + digits.slice(17, 20),
    digits.slice(20, 32),
  ].join("-");
}

/** Bytes of any length that follow from the parts. */
export function bytes(length: number, ...parts: readonly string[]): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / 32) }, (_, block) => digest(...parts, String(block)));
  return Buffer.concat(blocks).subarray(0, length);
}

/** Characters of an alphabet, of any length, that follow from the parts. */
export function characters(length: number, alphabet: string, ...parts: readonly string[]): string {
  return [...bytes(length, ...parts)].map((byte) => alphabet[byte % alphabet.length]).join("");
}

/** Pulumi's automatic name: the logical one and seven hexadecimal digits. */
export function autoName(name: string, urn: string): string {
  return `${name}-${hex(7, urn, "name")}`;
}

/** Addresses that both clouds keep at the start of a subnet; they keep the last one too. */
const kept = 4;

/** The lowest free addresses of subnets in turn, as both clouds give them to machines of a group. */
export class AddressPool {
  readonly #taken: Set<string>;

  /** @param taken addresses that something has already */
  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken);
  }

  /** The lowest free address of a subnet. @throws Error when it is full. */
  next(range: string): string {
    const network = cidr(range);
    for (let number = kept; number < addressCount(network.prefix) - 1; number++) {
      const address = addressAt(network, number);
      if (this.#taken.has(address)) continue;
      this.#taken.add(address);
      return address;
    }
    throw new Error(`the subnet ${range} has no address left`);
  }
}
