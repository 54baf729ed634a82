import { createHash } from "node:crypto";
import { CertificationRequest, CertificationRequestInfo, Attributes as RequestAttributes } from "@peculiar/asn1-csr";
import { ExtensionRequest, id_pkcs9_at_extensionRequest } from "@peculiar/asn1-pkcs9";
import { AsnConvert, OctetString } from "@peculiar/asn1-schema";
import * as x509 from "@peculiar/asn1-x509";

// `@peculiar/x509` signs by asynchronous WebCrypto alone, which cannot put filler in place of a signature.

/** Attributes of a subject that the program sets, in the order in which Go's `pkix.Name` writes them. */
const subjectAttributes = { organization: "2.5.4.10", organizationalUnit: "2.5.4.11", commonName: "2.5.4.3" };

/**
 * Usages by the provider's names: bits of the key usage, or ids of the extended one (RFC 5280, 4.2.1.3 and 4.2.1.12).
 */
const usages: Readonly<Record<string, x509.KeyUsageFlags | string>> = {
  digital_signature: x509.KeyUsageFlags.digitalSignature,
  key_encipherment: x509.KeyUsageFlags.keyEncipherment,
  cert_signing: x509.KeyUsageFlags.keyCertSign,
  crl_signing: x509.KeyUsageFlags.cRLSign,
  server_auth: "1.3.6.1.5.5.7.3.1",
  client_auth: "1.3.6.1.5.5.7.3.2",
};

/** Signs bytes; the signature is DER as the algorithm requires. */
export interface Signer {
  readonly algorithm: x509.AlgorithmIdentifier;
  readonly sign: (bytes: Buffer) => Buffer;
}

export interface RequestParts {
  readonly subject: x509.Name;
  readonly publicKey: x509.SubjectPublicKeyInfo;
  readonly alternativeNames: x509.SubjectAlternativeName | undefined;
}

export interface CertificateParts extends RequestParts {
  /** At most 20 bytes, the first below 0x80. */
  readonly serial: Buffer;
  readonly issuer: x509.Name;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly isCa: boolean;
  /** @see usages */
  readonly uses: readonly string[];
  /** Whether it names its own key; a CA's always does, as Go's `x509.CreateCertificate` has it. */
  readonly namesKey: boolean;
  readonly authorityKey: Buffer | undefined;
}

/** A name from the tls provider's attributes. */
export function distinguishedName(attributes: Readonly<Record<string, string>>): x509.Name {
  const odd = Object.keys(attributes).find((name) => !Object.hasOwn(subjectAttributes, name));
  if (odd !== undefined) throw new Error(`no simulation of a subject's ${odd}`);
  return new x509.Name(
    Object.entries(subjectAttributes).flatMap(([name, type]) => {
      const text = attributes[name];
      if (text === undefined || text === "") return [];
      // As Go's encoding/asn1: a PrintableString where the characters allow it.
      const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text);
      const value = new x509.AttributeValue(printable ? { printableString: text } : { utf8String: text });
      return [new x509.RelativeDistinguishedName([new x509.AttributeTypeAndValue({ type, value })])];
    }),
  );
}

/** `undefined` when there are none. */
export function generalNames(
  dnsNames: readonly string[],
  ipAddresses: readonly string[],
): x509.SubjectAlternativeName | undefined {
  const names = [
    ...dnsNames.map((dNSName) => new x509.GeneralName({ dNSName })),
    ...ipAddresses.map((iPAddress) => new x509.GeneralName({ iPAddress })),
  ];
  return names.length === 0 ? undefined : new x509.SubjectAlternativeName(names);
}

export function publicKeyInfo(der: Buffer): x509.SubjectPublicKeyInfo {
  return AsnConvert.parse(der, x509.SubjectPublicKeyInfo);
}

/** PEM (RFC 5280, 4.1). */
export function certificate(parts: CertificateParts, signer: Signer): string {
  const body = new x509.TBSCertificate({
    version: x509.Version.v3,
    serialNumber: arrayBuffer(parts.serial),
    signature: signer.algorithm,
    issuer: parts.issuer,
    // UTCTime until 2049, GeneralizedTime from 2050 on (RFC 5280, 4.1.2.5).
    validity: new x509.Validity({ notBefore: parts.notBefore, notAfter: parts.notAfter }),
    subject: parts.subject,
    subjectPublicKeyInfo: parts.publicKey,
    extensions: new x509.Extensions(extensions(parts)),
  });
  const signatureValue = arrayBuffer(signer.sign(der(body)));
  const signed = new x509.Certificate({ tbsCertificate: body, signatureAlgorithm: signer.algorithm, signatureValue });
  return pem("CERTIFICATE", der(signed));
}

function extensions({
  uses,
  isCa,
  namesKey,
  publicKey,
  authorityKey,
  alternativeNames,
}: CertificateParts): x509.Extension[] {
  const unknown = uses.find((use) => usages[use] === undefined);
  if (unknown !== undefined)
    throw new Error(`no simulation of a certificate for ${unknown}; known: ${Object.keys(usages).join(", ")}`);
  const kinds = uses.map((use) => usages[use]);
  const flags = kinds.reduce<number>((sum, kind) => sum | (typeof kind === "number" ? kind : 0), 0);
  const extended = kinds.filter((kind) => typeof kind === "string");
  const authority =
    authorityKey && new x509.AuthorityKeyIdentifier({ keyIdentifier: new x509.KeyIdentifier(authorityKey) });
  return [
    ...(flags === 0 ? [] : [extension(x509.id_ce_keyUsage, true, new x509.KeyUsage(flags))]),
    ...(extended.length === 0 ? [] : [extension(x509.id_ce_extKeyUsage, false, new x509.ExtendedKeyUsage(extended))]),
    extension(x509.id_ce_basicConstraints, true, new x509.BasicConstraints({ cA: isCa })),
    ...(isCa || namesKey
      ? [extension(x509.id_ce_subjectKeyIdentifier, false, new x509.SubjectKeyIdentifier(keyIdentifier(publicKey)))]
      : []),
    ...(authority === undefined ? [] : [extension(x509.id_ce_authorityKeyIdentifier, false, authority)]),
    ...alternativeNamesExtension(alternativeNames),
  ];
}

function alternativeNamesExtension(names: x509.SubjectAlternativeName | undefined): x509.Extension[] {
  return names === undefined ? [] : [extension(x509.id_ce_subjectAltName, false, names)];
}

function extension(extnID: string, critical: boolean, value: object): x509.Extension {
  return new x509.Extension({ extnID, critical, extnValue: new OctetString(der(value)) });
}

/** SHA-1 of the public key's bits (first method of RFC 5280, 4.2.1.2); a name and not a safeguard. */
function keyIdentifier({ subjectPublicKey }: x509.SubjectPublicKeyInfo): Buffer {
  return createHash("sha1").update(Buffer.from(subjectPublicKey)).digest();
}

/** PEM (RFC 2986). */
export function certificateRequest({ subject, publicKey, alternativeNames }: RequestParts, signer: Signer): string {
  const names = AsnConvert.serialize(new ExtensionRequest(alternativeNamesExtension(alternativeNames)));
  const body = new CertificationRequestInfo({
    version: 0,
    subject,
    subjectPKInfo: publicKey,
    attributes: new RequestAttributes(
      alternativeNames === undefined
        ? []
        : [new x509.Attribute({ type: id_pkcs9_at_extensionRequest, values: [names] })],
    ),
  });
  const signature = arrayBuffer(signer.sign(der(body)));
  const signed = new CertificationRequest({
    certificationRequestInfo: body,
    signatureAlgorithm: signer.algorithm,
    signature,
  });
  return pem("CERTIFICATE REQUEST", der(signed));
}

export function readRequestPem(text: string): RequestParts {
  const { subject, subjectPKInfo, attributes } = AsnConvert.parse(
    fromPem(text),
    CertificationRequest,
  ).certificationRequestInfo;
  const names = (attributes ?? [])
    .filter(({ type }) => type === id_pkcs9_at_extensionRequest)
    .flatMap(({ values }) => values.flatMap((value) => [...AsnConvert.parse(value, ExtensionRequest)]))
    .find(({ extnID }) => extnID === x509.id_ce_subjectAltName);
  return {
    subject,
    publicKey: subjectPKInfo,
    alternativeNames: names === undefined ? undefined : AsnConvert.parse(names.extnValue, x509.SubjectAlternativeName),
  };
}

/** What certificates repeat of the one that signs them. */
export function readIssuer(text: string): { readonly subject: x509.Name; readonly key: Buffer } {
  const { subject, subjectPublicKeyInfo } = AsnConvert.parse(fromPem(text), x509.Certificate).tbsCertificate;
  return { subject, key: keyIdentifier(subjectPublicKeyInfo) };
}

function der(value: object): Buffer {
  return Buffer.from(AsnConvert.serialize(value));
}

function arrayBuffer(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

/** PEM text of a label such as `CERTIFICATE` (RFC 7468). */
function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** Bytes of the first block. @throws RangeError when there is none. */
function fromPem(text: string): Buffer {
  const body = /-----BEGIN [A-Z0-9 ]+-----([\s\S]+?)-----END/.exec(text)?.[1];
  if (body === undefined) throw new RangeError("no PEM block");
  return Buffer.from(body, "base64");
}
