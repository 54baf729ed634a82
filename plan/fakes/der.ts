/** ASN.1 in DER (ITU-T X.690), as much of it as certificates of RFC 5280 need. */

/** Tag numbers with their class and form. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** One element: tag, length, contents. */
export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOctets(body.length), body]);
}

function lengthOctets(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256);
  return Buffer.from([0x80 | octets.length, ...octets]);
}

/** A SEQUENCE. */
export function sequence(...items: readonly Uint8Array[]): Buffer {
  return element(tags.sequence, ...items);
}

/** An element with a context tag; constructed unless `primitive`. */
export function context(
  number: number,
  contents: Uint8Array,
  form: "constructed" | "primitive" = "constructed",
): Buffer {
  return element(0x80 | (form === "constructed" ? 0x20 : 0) | number, contents);
}

/** A non-negative INTEGER from its bytes, most significant first. */
export function integer(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const significant = bytes.subarray(start);
  const negative = (significant[0] ?? 0) >= 0x80;
  return element(tags.integer, ...(negative ? [Buffer.from([0])] : []), significant);
}

/** An OBJECT IDENTIFIER from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const arc = (value: number): readonly number[] => {
    const septets = [value & 0x7f];
    for (let left = value >>> 7; left > 0; left >>>= 7) septets.unshift((left & 0x7f) | 0x80);
    return septets;
  };
  return element(tags.oid, Buffer.from([first * 40 + second, ...rest].flatMap(arc)));
}

/** A BIT STRING whose last octet has `unused` bits. */
export function bitString(bytes: Uint8Array, unused = 0): Buffer {
  return element(tags.bitString, Buffer.from([unused]), bytes);
}

/** An OCTET STRING. */
export function octetString(bytes: Uint8Array): Buffer {
  return element(tags.octetString, bytes);
}

/** BOOLEAN true; false is always a default that DER leaves out. */
export const booleanTrue = element(tags.boolean, Buffer.from([0xff]));

/** An element as it was read. */
export interface DerElement {
  readonly tag: number;
  /** Contents without tag and length. */
  readonly contents: Buffer;
  /** The element with tag and length. */
  readonly whole: Buffer;
}

/** The elements that follow each other in `bytes`. @throws RangeError when they are cut short. */
export function readElements(bytes: Buffer): readonly DerElement[] {
  const elements: DerElement[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes.readUInt8(at);
    const first = bytes.readUInt8(at + 1);
    const extra = first < 0x80 ? 0 : first & 0x7f;
    const length = extra === 0 ? first : bytes.readUIntBE(at + 2, extra);
    const start = at + 2 + extra;
    if (start + length > bytes.length) throw new RangeError("a DER element is longer than what holds it");
    elements.push({ tag, contents: bytes.subarray(start, start + length), whole: bytes.subarray(at, start + length) });
    at = start + length;
  }
  return elements;
}

/** The element at a position. @throws RangeError when there are fewer. */
export function elementAt(elements: readonly DerElement[], index: number): DerElement {
  const found = elements[index];
  if (found === undefined) throw new RangeError(`no DER element ${index}`);
  return found;
}

/** PEM text of a label such as `CERTIFICATE` (RFC 7468). */
export function pem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** The bytes of the first block in a PEM text. @throws RangeError when there is none. */
export function fromPem(text: string): Buffer {
  const body = /-----BEGIN [A-Z0-9 ]+-----([\s\S]+?)-----END/.exec(text)?.[1];
  if (body === undefined) throw new RangeError("no PEM block");
  return Buffer.from(body, "base64");
}
