/** An IPv4 network: `first` address as an unsigned 32-bit number, and prefix length. */
export interface Cidr {
  readonly first: number;
  readonly prefix: number;
}

export function addressCount(prefix: number): number {
  return 2 ** (32 - prefix);
}

/** Reads `10.0.0.0/16`; `undefined` for other texts and for host bits that are not zero. */
export function parseCidr(text: string): Cidr | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(text);
  if (match === null) return undefined;
  const [a, b, c, d, prefix] = match.slice(1).map(Number);
  if (a === undefined || b === undefined || c === undefined || d === undefined || prefix === undefined)
    return undefined;
  if ([a, b, c, d].some((octet) => octet > 255) || prefix > 32) return undefined;
  const first = ((a * 256 + b) * 256 + c) * 256 + d;
  return first % addressCount(prefix) === 0 ? { first, prefix } : undefined;
}

/** A well-formed network, such as a constant. Throws for anything else. */
export function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new RangeError(`"${text}" is not an IPv4 network`);
  return parsed;
}

function formatAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
}

export function formatCidr({ first, prefix }: Cidr): string {
  return `${formatAddress(first)}/${prefix}`;
}

/** The `index`-th address, from the first one. Throws when out of range. */
export function addressAt(network: Cidr, index: number): string {
  if (index < 0 || index >= addressCount(network.prefix))
    throw new RangeError(`${formatCidr(network)} has no address ${index}`);
  return formatAddress(network.first + index);
}

/** The `index`-th of the equal subnets with `bits` more prefix bits. Throws when out of range. */
export function subnet(network: Cidr, bits: number, index: number): Cidr {
  const prefix = network.prefix + bits;
  if (prefix > 32 || index < 0 || index >= 2 ** bits)
    throw new RangeError(`${formatCidr(network)} has no part ${index} of 2^${bits}`);
  return { first: network.first + index * addressCount(prefix), prefix };
}

export function overlaps(a: Cidr, b: Cidr): boolean {
  return a.first < b.first + addressCount(b.prefix) && b.first < a.first + addressCount(a.prefix);
}

export function contains(outer: Cidr, inner: Cidr): boolean {
  return (
    inner.prefix >= outer.prefix && inner.first >= outer.first && inner.first < outer.first + addressCount(outer.prefix)
  );
}

/** The networks of a list that are inside no other, each once. */
export function outermost(texts: readonly string[]): readonly string[] {
  const unique = [...new Set(texts)];
  return unique.filter((inner) => !unique.some((outer) => outer !== inner && contains(cidr(outer), cidr(inner))));
}
