import { createHash } from "node:crypto";
import { CertificationRequest, CertificationRequestInfo, Attributes as RequestAttributes } from "@peculiar/asn1-csr";
import { ExtensionRequest, id_pkcs9_at_extensionRequest } from "@peculiar/asn1-pkcs9";
import { AsnConvert, OctetString } from "@peculiar/asn1-schema";
import {
  type AlgorithmIdentifier,
  Attribute,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from "@peculiar/asn1-x509";

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

/** Key usages by the name that the tls provider gives them (RFC 5280, 4.2.1.3). */
const keyUsages: Readonly<Record<string, KeyUsageFlags>> = {
  digital_signature: KeyUsageFlags.digitalSignature,
  content_commitment: KeyUsageFlags.nonRepudiation,
  key_encipherment: KeyUsageFlags.keyEncipherment,
  data_encipherment: KeyUsageFlags.dataEncipherment,
  key_agreement: KeyUsageFlags.keyAgreement,
  cert_signing: KeyUsageFlags.keyCertSign,
  crl_signing: KeyUsageFlags.cRLSign,
  encipher_only: KeyUsageFlags.encipherOnly,
  decipher_only: KeyUsageFlags.decipherOnly,
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

/** Signs the bytes and says with which algorithm; the signature is DER as the algorithm requires. */
export interface Signer {
  readonly algorithm: AlgorithmIdentifier;
  readonly sign: (bytes: Buffer) => Buffer;
}

export interface AlternativeNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly uris: readonly string[];
}

export interface RequestParts {
  readonly subject: Name;
  readonly publicKey: SubjectPublicKeyInfo;
  readonly alternativeNames: SubjectAlternativeName | undefined;
}

export interface CertificateParts extends RequestParts {
  /** At most 20 bytes, the first below 0x80. */
  readonly serial: Buffer;
  readonly issuer: Name;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly isCa: boolean;
  /** Usages by the names of the tls provider. @see keyUsages */
  readonly uses: readonly string[];
  /** Whether the certificate names its own key; a CA's always does, as Go's `x509.CreateCertificate` has it. */
  readonly namesKey: boolean;
  /** Identifier of the issuer's key, when the issuer has one. */
  readonly authorityKey: Buffer | undefined;
}

/** A name from the attributes that the tls provider takes. */
export function distinguishedName(attributes: Readonly<Record<string, string>>): Name {
  const known: readonly string[] = subjectAttributes.map(([name]) => name);
  const odd = Object.keys(attributes).find((name) => !known.includes(name));
  if (odd !== undefined) throw new Error(`no simulation of a subject's ${odd}`);
  return new Name(
    subjectAttributes.flatMap(([name, type]) => {
      const text = attributes[name];
      if (text === undefined || text === "") return [];
      // As Go's encoding/asn1: a PrintableString where the characters allow it.
      const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text);
      const value = new AttributeValue(printable ? { printableString: text } : { utf8String: text });
      return [new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value })])];
    }),
  );
}

/** The names as an extension holds them; `undefined` when there are none. */
export function generalNames({ dnsNames, ipAddresses, uris }: AlternativeNames): SubjectAlternativeName | undefined {
  const names = [
    ...dnsNames.map((dNSName) => new GeneralName({ dNSName })),
    ...uris.map((uniformResourceIdentifier) => new GeneralName({ uniformResourceIdentifier })),
    ...ipAddresses.map((iPAddress) => new GeneralName({ iPAddress })),
  ];
  return names.length === 0 ? undefined : new SubjectAlternativeName(names);
}

/** A public key from its DER (`spki`). */
export function publicKeyInfo(der: Buffer): SubjectPublicKeyInfo {
  return AsnConvert.parse(der, SubjectPublicKeyInfo);
}

/** PEM text of a signed certificate (RFC 5280, 4.1). */
export function certificate(parts: CertificateParts, signer: Signer): string {
  const body = new TBSCertificate({
    version: Version.v3,
    serialNumber: arrayBuffer(parts.serial),
    signature: signer.algorithm,
    issuer: parts.issuer,
    // UTCTime until 2049, GeneralizedTime from 2050 on (RFC 5280, 4.1.2.5).
    validity: new Validity({ notBefore: parts.notBefore, notAfter: parts.notAfter }),
    subject: parts.subject,
    subjectPublicKeyInfo: parts.publicKey,
    extensions: new Extensions(extensions(parts)),
  });
  const signatureValue = arrayBuffer(signer.sign(der(body)));
  const signed = new Certificate({ tbsCertificate: body, signatureAlgorithm: signer.algorithm, signatureValue });
  return pem("CERTIFICATE", der(signed));
}

function extensions(parts: CertificateParts): Extension[] {
  const unknown = parts.uses.find((use) => keyUsages[use] === undefined && extendedUsages[use] === undefined);
  if (unknown !== undefined)
    throw new Error(
      `unknown use of a certificate: ${unknown}; known: ${[...Object.keys(keyUsages), ...Object.keys(extendedUsages)].join(", ")}`,
    );
  const flags = parts.uses.reduce((sum, use) => sum | (keyUsages[use] ?? 0), 0);
  const extended = parts.uses.map((use) => extendedUsages[use]).filter((id) => id !== undefined);
  return [
    ...(flags === 0 ? [] : [extension(id_ce_keyUsage, true, new KeyUsage(flags))]),
    ...(extended.length === 0 ? [] : [extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage(extended))]),
    extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: parts.isCa })),
    ...(parts.isCa || parts.namesKey
      ? [extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(keyIdentifier(parts.publicKey)))]
      : []),
    ...(parts.authorityKey === undefined
      ? []
      : [
          extension(
            id_ce_authorityKeyIdentifier,
            false,
            new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(parts.authorityKey) }),
          ),
        ]),
    ...alternativeNamesExtension(parts.alternativeNames),
  ];
}

function alternativeNamesExtension(names: SubjectAlternativeName | undefined): Extension[] {
  return names === undefined ? [] : [extension(id_ce_subjectAltName, false, names)];
}

function extension(extnID: string, critical: boolean, value: object): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(der(value)) });
}

/** SHA-1 of the public key's bits, the first method of RFC 5280, 4.2.1.2; a name and not a safeguard. */
function keyIdentifier({ subjectPublicKey }: SubjectPublicKeyInfo): Buffer {
  return createHash("sha1").update(Buffer.from(subjectPublicKey)).digest();
}

/** PEM text of a signed certificate request (RFC 2986). */
export function certificateRequest({ subject, publicKey, alternativeNames }: RequestParts, signer: Signer): string {
  const request = new ExtensionRequest(alternativeNamesExtension(alternativeNames));
  const body = new CertificationRequestInfo({
    version: 0,
    subject,
    subjectPKInfo: publicKey,
    attributes: new RequestAttributes(
      alternativeNames === undefined
        ? []
        : [new Attribute({ type: id_pkcs9_at_extensionRequest, values: [AsnConvert.serialize(request)] })],
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

/** Reads a certificate request as a signer would. */
export function readRequestPem(text: string): RequestParts {
  const { subject, subjectPKInfo, attributes } = AsnConvert.parse(fromPem(text), CertificationRequest).certificationRequestInfo;
  const names = (attributes ?? [])
    .filter(({ type }) => type === id_pkcs9_at_extensionRequest)
    .flatMap(({ values }) => values.flatMap((value) => [...AsnConvert.parse(value, ExtensionRequest)]))
    .find(({ extnID }) => extnID === id_ce_subjectAltName);
  return {
    subject,
    publicKey: subjectPKInfo,
    alternativeNames: names === undefined ? undefined : AsnConvert.parse(names.extnValue, SubjectAlternativeName),
  };
}

/** Subject and key identifier of a certificate, which what it signs repeats. */
export function readIssuer(text: string): { readonly subject: Name; readonly key: Buffer } {
  const { subject, subjectPublicKeyInfo } = AsnConvert.parse(fromPem(text), Certificate).tbsCertificate;
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

/** The bytes of the first block in a PEM text. @throws RangeError when there is none. */
function fromPem(text: string): Buffer {
  const body = /-----BEGIN [A-Z0-9 ]+-----([\s\S]+?)-----END/.exec(text)?.[1];
  if (body === undefined) throw new RangeError("no PEM block");
  return Buffer.from(body, "base64");
}
