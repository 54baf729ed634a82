import { addressAt, addressCount, cidr, contains } from "../../components/model/cidr.ts";
import { digest } from "./identifiers.ts";

/** Addresses that both clouds keep at the start of a subnet; they keep the last one too. */
const kept = 4;

/** An address by the seed, never one that the cloud keeps. */
export function addressIn(range: string, seed: string): string {
  const network = cidr(range);
  const size = Math.max(addressCount(network.prefix) - kept - 1, 1);
  return addressAt(network, kept + (digest(seed, "address").readUInt32BE(0) % size));
}

/**
 * Both clouds refuse a fixed address outside of its subnet (EC2 API Reference, Error codes, InvalidParameterValue;
 * Azure: PrivateIPAddressNotInSubnet).
 *
 * @param range `undefined` where the subnet is of another program
 */
export function requireInside(address: string, range: string | undefined): void {
  if (range !== undefined && !contains(cidr(range), cidr(`${address}/32`)))
    throw new Error(`the address ${address} does not fall within the subnet's range ${range}`);
}

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
