import { createHash } from "node:crypto";
import { isIPv6, SocketAddress } from "node:net";
import {
  bitString,
  booleanTrue,
  context,
  element,
  elementAt,
  fromPem,
  integer,
  octetString,
  oid,
  readElements,
  sequence,
  tags,
} from "./der.ts";

/** Attributes of a subject, in the order in which Go's `pkix.Name` writes them. */
const subjectAttributes = [
  ["country", "2.5.4.6"],
  ["organization", "2.5.4.10"],
  ["organizationalUnit", "2.5.4.11"],
  ["locality", "2.5.4.7"],
  ["province", "2.5.4.8"],
  ["commonName", "2.5.4.3"],
  ["serialNumber", "2.5.4.5"],
] as const;

/** Key usages by the name that the tls provider gives them, as bit numbers of RFC 5280, 4.2.1.3. */
const keyUsages: Readonly<Record<string, number>> = {
  digital_signature: 0,
  content_commitment: 1,
  key_encipherment: 2,
  data_encipherment: 3,
  key_agreement: 4,
  cert_signing: 5,
  crl_signing: 6,
  encipher_only: 7,
  decipher_only: 8,
};

/** Extended key usages by the name that the tls provider gives them (RFC 5280, 4.2.1.12). */
const extendedUsages: Readonly<Record<string, string>> = {
  any_extended: "2.5.29.37.0",
  server_auth: "1.3.6.1.5.5.7.3.1",
  client_auth: "1.3.6.1.5.5.7.3.2",
  code_signing: "1.3.6.1.5.5.7.3.3",
  email_protection: "1.3.6.1.5.5.7.3.4",
  timestamping: "1.3.6.1.5.5.7.3.8",
  ocsp_signing: "1.3.6.1.5.5.7.3.9",
};

const extensionRequest = "1.2.840.113549.1.9.14";
const subjectKeyIdentifier = "2.5.29.14";
const subjectAlternativeName = "2.5.29.17";

/** Signs the bytes and says with which algorithm; the signature is DER as the algorithm wants it. */
export interface Signer {
  readonly algorithm: Buffer;
  readonly sign: (bytes: Buffer) => Buffer;
}

/** Names that a certificate is valid for. */
export interface AlternativeNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly uris: readonly string[];
}

/** What goes into a certificate. */
export interface CertificateParts {
  /** At most 20 bytes, the first below 0x80. */
  readonly serial: Buffer;
  /** DER of the subject's name. */
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** DER of the public key with its algorithm. */
  readonly publicKey: Buffer;
  readonly isCa: boolean;
  /** Usages by the names of the tls provider. @see keyUsages */
  readonly uses: readonly string[];
  /** DER of the GeneralNames, when there are any. */
  readonly alternativeNames: Buffer | undefined;
  /** Whether the certificate names its own key; a CA's always does, as Go's `x509.CreateCertificate` has it. */
  readonly namesKey: boolean;
  /** Name of the issuer's key, when the issuer has one. */
  readonly authorityKey: Buffer | undefined;
}

/** DER of a name from the attributes that the tls provider takes. */
export function distinguishedName(attributes: Readonly<Record<string, string>>): Buffer {
  const known: readonly string[] = subjectAttributes.map(([name]) => name);
  const odd = Object.keys(attributes).find((name) => !known.includes(name));
  if (odd !== undefined) throw new Error(`no simulation of a subject's ${odd}`);
  return sequence(
    ...subjectAttributes.flatMap(([name, id]) => {
      const value = attributes[name];
      if (value === undefined || value === "") return [];
      const tag = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value) ? tags.printableString : tags.utf8String;
      return [element(tags.set, sequence(oid(id), element(tag, Buffer.from(value))))];
    }),
  );
}

/** DER of the GeneralNames; `undefined` when there are none. */
export function generalNames({ dnsNames, ipAddresses, uris }: AlternativeNames): Buffer | undefined {
  const names = [
    ...dnsNames.map((name) => context(2, Buffer.from(name, "ascii"), "primitive")),
    ...uris.map((uri) => context(6, Buffer.from(uri, "ascii"), "primitive")),
    ...ipAddresses.map((address) => context(7, addressBytes(address), "primitive")),
  ];
  return names.length === 0 ? undefined : sequence(...names);
}

function addressBytes(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split(".").map(Number));
  const parsed = new SocketAddress({ address, family: "ipv6" }).address;
  const [head = "", tail] = parsed.split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  const after = tail === undefined ? [] : groups(tail);
  const before = groups(head);
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

/** DER of a signed certificate (RFC 5280, 4.1). */
export function certificate(parts: CertificateParts, signer: Signer): Buffer {
  const body = sequence(
    context(0, integer(Buffer.from([2]))),
    integer(parts.serial),
    signer.algorithm,
    parts.issuer,
    sequence(time(parts.notBefore), time(parts.notAfter)),
    parts.subject,
    parts.publicKey,
    context(3, sequence(...extensions(parts))),
  );
  return sequence(body, signer.algorithm, bitString(signer.sign(body)));
}

function extensions(parts: CertificateParts): readonly Buffer[] {
  const uses = parts.uses.map((use) => {
    if (keyUsages[use] === undefined && extendedUsages[use] === undefined)
      throw new Error(
        `unknown use of a certificate: ${use}; known: ${[...Object.keys(keyUsages), ...Object.keys(extendedUsages)].join(", ")}`,
      );
    return use;
  });
  const bits = uses.map((use) => keyUsages[use]).filter((bit) => bit !== undefined);
  const extended = uses.map((use) => extendedUsages[use]).filter((id) => id !== undefined);
  const extension = (id: string, critical: boolean, value: Buffer) =>
    sequence(oid(id), ...(critical ? [booleanTrue] : []), octetString(value));
  return [
    ...(bits.length === 0 ? [] : [extension("2.5.29.15", true, namedBits(bits))]),
    ...(extended.length === 0 ? [] : [extension("2.5.29.37", false, sequence(...extended.map(oid)))]),
    extension("2.5.29.19", true, parts.isCa ? sequence(booleanTrue) : sequence()),
    ...(parts.isCa || parts.namesKey
      ? [extension(subjectKeyIdentifier, false, octetString(keyIdentifier(parts.publicKey)))]
      : []),
    ...(parts.authorityKey === undefined
      ? []
      : [extension("2.5.29.35", false, sequence(context(0, parts.authorityKey, "primitive")))]),
    ...(parts.alternativeNames === undefined ? [] : [extension(subjectAlternativeName, false, parts.alternativeNames)]),
  ];
}

/** Named bits as DER wants them: trailing zero bits left out (X.690, 11.2.2). */
function namedBits(bits: readonly number[]): Buffer {
  const highest = Math.max(...bits);
  const octets = Buffer.alloc((highest >> 3) + 1);
  for (const bit of bits) octets[bit >> 3] = (octets[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  return bitString(octets, 7 - (highest & 7));
}

/** SHA-1 of the public key's bits, the first method of RFC 5280, 4.2.1.2; a name and not a safeguard. */
export function keyIdentifier(publicKey: Buffer): Buffer {
  const bits = elementAt(readElements(elementAt(readElements(publicKey), 0).contents), 1).contents.subarray(1);
  return createHash("sha1").update(bits).digest();
}

/** UTCTime until 2049, GeneralizedTime from 2050 on (RFC 5280, 4.1.2.5). */
function time(date: Date): Buffer {
  const text = `${date.toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`;
  return date.getUTCFullYear() < 2050
    ? element(tags.utcTime, Buffer.from(text.slice(2)))
    : element(tags.generalizedTime, Buffer.from(text));
}

/** DER of a signed certificate request (RFC 2986). */
export function certificateRequest(
  parts: Pick<CertificateParts, "subject" | "publicKey" | "alternativeNames">,
  signer: Signer,
): Buffer {
  const names = parts.alternativeNames;
  const attributes =
    names === undefined
      ? Buffer.alloc(0)
      : sequence(
          oid(extensionRequest),
          element(tags.set, sequence(sequence(oid(subjectAlternativeName), octetString(names)))),
        );
  const body = sequence(integer(Buffer.from([0])), parts.subject, parts.publicKey, context(0, attributes));
  return sequence(body, signer.algorithm, bitString(signer.sign(body)));
}

/** Reads a certificate request as a signer would. */
export function readRequestPem(text: string): Pick<CertificateParts, "subject" | "publicKey" | "alternativeNames"> {
  const body = readElements(elementAt(readElements(elementAt(readElements(fromPem(text)), 0).contents), 0).contents);
  const attributes = body[3] === undefined ? [] : readElements(body[3].contents);
  const names = attributes
    .map(({ contents }) => readElements(contents))
    .filter((attribute) => elementAt(attribute, 0).whole.equals(oid(extensionRequest)))
    .flatMap((attribute) => readElements(elementAt(readElements(elementAt(attribute, 1).contents), 0).contents))
    .map(({ contents }) => readElements(contents))
    .find((extension) => elementAt(extension, 0).whole.equals(oid(subjectAlternativeName)));
  return {
    subject: elementAt(body, 1).whole,
    publicKey: elementAt(body, 2).whole,
    alternativeNames: names === undefined ? undefined : elementAt(names, names.length - 1).contents,
  };
}

/** Subject and key identifier of a certificate, which what it signs repeats. */
export function readIssuer(text: string): { readonly subject: Buffer; readonly key: Buffer } {
  const body = readElements(elementAt(readElements(elementAt(readElements(fromPem(text)), 0).contents), 0).contents);
  return { subject: elementAt(body, 5).whole, key: keyIdentifier(elementAt(body, 6).whole) };
}
