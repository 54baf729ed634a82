import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import { CertificationRequest, CertificationRequestInfo, Attributes as RequestAttributes } from "@peculiar/asn1-csr";
import { ECDSASigValue, ecdsaWithSHA256 } from "@peculiar/asn1-ecc";
import { ExtensionRequest, id_pkcs9_at_extensionRequest } from "@peculiar/asn1-pkcs9";
import { AsnConvert, OctetString } from "@peculiar/asn1-schema";
import * as x509 from "@peculiar/asn1-x509";
import {
  listOf,
  mapOf,
  numberOf,
  type PropertyMap,
  type PropertyValue,
  Secret,
  textOf,
} from "../../components/gates/values.ts";
import type { SimulatedResource } from "../program/engine.ts";
import type { ResourceRequest } from "../program/recorded.ts";
import { bytes, digest, hex } from "./identifiers.ts";
import type { CertificateMode, SimulatedContext } from "./provider.ts";

/** Organisational unit in the subject of every fake certificate. */
const fakeUnit = "fake of fenestra plan";
const fakeStart = new Date("2026-01-01T00:00:00Z");
const hour = 3_600_000;

type TlsRequest = Pick<ResourceRequest, "type" | "urn" | "inputs">;
type Mode = Pick<SimulatedContext, "certificates">;

/** The one curve that the program uses, by OpenSSL's name. */
const curve = "prime256v1";

export function tlsResource({ type, urn, inputs }: TlsRequest, context: Mode): SimulatedResource {
  switch (type) {
    case "tls:index/privateKey:PrivateKey":
      return privateKey(urn, inputs, context);
    case "tls:index/certRequest:CertRequest": {
      const key = requiredKey(inputs, "privateKeyPem");
      const parts = {
        subject: subject(inputs, context),
        publicKey: spki(key),
        alternativeNames: alternativeNames(inputs),
      };
      const certRequestPem = certificateRequest(parts, key, context);
      return { id: hex(40, urn), outputs: { certRequestPem } };
    }
    case "tls:index/selfSignedCert:SelfSignedCert": {
      const key = requiredKey(inputs, "privateKeyPem");
      const name = subject(inputs, context);
      const parts = { publicKey: spki(key), alternativeNames: alternativeNames(inputs), authorityKey: undefined };
      return signed(urn, inputs, context, key, { subject: name, issuer: name, ...parts });
    }
    case "tls:index/locallySignedCert:LocallySignedCert": {
      const issuer = readIssuer(requiredText(inputs, "caCertPem"));
      return signed(urn, inputs, context, requiredKey(inputs, "caPrivateKeyPem"), {
        ...readRequestPem(requiredText(inputs, "certRequestPem")),
        issuer: issuer.subject,
        authorityKey: issuer.key,
      });
    }
    default:
      throw new Error(`no simulation of ${type}`);
  }
}

function privateKey(urn: string, inputs: PropertyMap, { certificates }: Mode) {
  const algorithm = textOf(inputs.algorithm) ?? "";
  const forSsh = algorithm === "ED25519";
  const key = forSsh
    ? edwardsKey(urn)
    : algorithm === "ECDSA"
      ? ellipticKey(urn, textOf(inputs.ecdsaCurve), certificates)
      : rsaKey(urn, algorithm, inputs, certificates);
  const publicKey = createPublicKey(key);
  const der = publicKey.export({ type: "spki", format: "der" });
  const type = forSsh ? "pkcs8" : algorithm === "RSA" ? "pkcs1" : "sec1";
  return {
    id: createHash("sha1").update(der).digest("hex"),
    outputs: {
      privateKeyPem: new Secret(key.export({ type, format: "pem" }).toString()),
      publicKeyPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
      ...(forSsh && { publicKeyOpenssh: opensshKey(der) }),
    },
  };
}

/** Precedes the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410, section 7). */
const edwardsPrefix = Buffer.from("302e020100300506032b657004220420", "hex");

/** A key for SSH; it signs nothing here. */
function edwardsKey(urn: string): KeyObject {
  const key = Buffer.concat([edwardsPrefix, digest(urn, "key")]);
  return createPrivateKey({ key, format: "der", type: "pkcs8" });
}

/** RFC 8709: two strings, each after its length. */
function opensshKey(der: Buffer): string {
  const name = Buffer.from("ssh-ed25519");
  const wire = [name, der.subarray(-32)].flatMap((part) => [Buffer.from([0, 0, 0, part.length]), part]);
  return `${name} ${Buffer.concat(wire).toString("base64")}\n`;
}

function ellipticKey(urn: string, name: string | undefined, mode: CertificateMode): KeyObject {
  if (name !== "P256") throw new Error(`no simulation of keys on the curve ${name}; known: P256`);
  if (mode === "real") return generateKeyPairSync("ec", { namedCurve: curve }).privateKey;
  const pair = createECDH(curve);
  // The first byte is zero, so that the number is below the order of the curve.
  const scalar = digest(urn, "key", "0");
  scalar[0] = 0;
  pair.setPrivateKey(scalar);
  const point = pair.getPublicKey();
  const text = (number: Buffer) => number.toString("base64url");
  const key = { kty: "EC", crv: "P-256", d: text(scalar), x: text(point.subarray(1, 33)), y: text(point.subarray(33)) };
  return createPrivateKey({ format: "jwk", key });
}

function rsaKey(urn: string, algorithm: string, inputs: PropertyMap, mode: CertificateMode): KeyObject {
  if (algorithm !== "RSA") throw new Error(`no simulation of ${algorithm} keys`);
  const modulusLength = numberOf(inputs.rsaBits) ?? 2048;
  if (mode === "real") return generateKeyPairSync("rsa", { modulusLength }).privateKey;
  // Numbers of the right length, but no key: nothing is signed with it.
  const number = (part: string, length: number): string => {
    const own = bytes(length, urn, part);
    own.writeUInt8(own.readUInt8(0) | 0x80, 0);
    own.writeUInt8(own.readUInt8(length - 1) | 1, length - 1);
    return own.toString("base64url");
  };
  const whole = modulusLength / 8;
  const half = (part: string): string => number(part, whole / 2);
  const primes = { p: half("p"), q: half("q"), dp: half("dp"), dq: half("dq"), qi: half("qi") };
  const key = { kty: "RSA", e: "AQAB", n: number("n", whole), d: number("d", whole), ...primes };
  return createPrivateKey({ format: "jwk", key });
}

function signed(urn: string, inputs: PropertyMap, context: Mode, key: KeyObject, names: CertificateNames) {
  const isReal = context.certificates === "real";
  const notBefore = isReal ? new Date(Math.floor(Date.now() / 1000) * 1000) : fakeStart;
  const hours = numberOf(inputs.validityPeriodHours) ?? 0;
  const notAfter = new Date(notBefore.getTime() + hours * hour);
  const serial = isReal ? randomBytes(16) : digest(urn, "serial").subarray(0, 16);
  // Positive, and of the same length in every run.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  const body = new x509.TBSCertificate({
    version: x509.Version.v3,
    serialNumber: arrayBuffer(serial),
    signature: ecdsaWithSHA256,
    issuer: names.issuer,
    // UTCTime until 2049, GeneralizedTime from 2050 on (RFC 5280, 4.1.2.5).
    validity: new x509.Validity({ notBefore, notAfter }),
    subject: names.subject,
    subjectPublicKeyInfo: names.publicKey,
    extensions: new x509.Extensions(extensions(inputs, names)),
  });
  const signatureValue = arrayBuffer(signature(der(body), key, context));
  const certPem = pem(
    "CERTIFICATE",
    new x509.Certificate({ tbsCertificate: body, signatureAlgorithm: ecdsaWithSHA256, signatureValue }),
  );
  const validityEndTime = notAfter.toISOString().replace(".000Z", "Z");
  return { id: BigInt(`0x${serial.toString("hex")}`).toString(), outputs: { certPem, validityEndTime } };
}

/** DER, by ECDSA with SHA-256; a fake certificate's is filler of the right form. */
function signature(body: Buffer, key: KeyObject, { certificates }: Mode): Buffer {
  if (certificates === "real") return sign("sha256", body, key);
  return der(new ECDSASigValue({ r: filler(body, "r"), s: filler(body, "s") }));
}

function filler(bytes: Buffer, part: string): ArrayBuffer {
  const number = digest(bytes.toString("hex"), part);
  number[0] = ((number[0] ?? 0) & 0x3f) | 0x40;
  return new Uint8Array(number).buffer;
}

function spki(key: KeyObject): x509.SubjectPublicKeyInfo {
  return AsnConvert.parse(createPublicKey(key).export({ type: "spki", format: "der" }), x509.SubjectPublicKeyInfo);
}

/** Attributes of a subject that the program sets, in the order in which Go's `pkix.Name` writes them. */
const subjectAttributes = { organization: "2.5.4.10", organizationalUnit: "2.5.4.11", commonName: "2.5.4.3" };

function subject(inputs: PropertyMap, { certificates }: Mode): x509.Name {
  const attributes = { ...mapOf(inputs.subject), ...(certificates === "fake" && { organizationalUnit: fakeUnit }) };
  const odd = Object.keys(attributes).find((name) => !Object.hasOwn(subjectAttributes, name));
  if (odd !== undefined) throw new Error(`no simulation of a subject's ${odd}`);
  return new x509.Name(
    Object.entries(subjectAttributes).flatMap(([name, type]) => {
      const text = textOf(mapOf(attributes)[name]) ?? "";
      if (text === "") return [];
      // As Go's encoding/asn1: a PrintableString where the characters allow it.
      const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text);
      const value = new x509.AttributeValue(printable ? { printableString: text } : { utf8String: text });
      return [new x509.RelativeDistinguishedName([new x509.AttributeTypeAndValue({ type, value })])];
    }),
  );
}

/** `undefined` when there are none. */
function alternativeNames({ dnsNames, ipAddresses }: PropertyMap): x509.SubjectAlternativeName | undefined {
  const texts = (value: PropertyValue | undefined) => listOf(value).map((item) => textOf(item) ?? "");
  const names = [
    ...texts(dnsNames).map((dNSName) => new x509.GeneralName({ dNSName })),
    ...texts(ipAddresses).map((iPAddress) => new x509.GeneralName({ iPAddress })),
  ];
  return names.length === 0 ? undefined : new x509.SubjectAlternativeName(names);
}

function requiredText(inputs: PropertyMap, name: string): string {
  const text = textOf(inputs[name]);
  if (text === undefined) throw new Error(`a certificate needs ${name}`);
  return text;
}

function requiredKey(inputs: PropertyMap, name: string): KeyObject {
  return createPrivateKey(requiredText(inputs, name));
}

// `@peculiar/x509` signs by asynchronous WebCrypto alone, which cannot put filler in place of a signature.

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

interface RequestParts {
  readonly subject: x509.Name;
  readonly publicKey: x509.SubjectPublicKeyInfo;
  readonly alternativeNames: x509.SubjectAlternativeName | undefined;
}

interface CertificateNames extends RequestParts {
  readonly issuer: x509.Name;
  readonly authorityKey: Buffer | undefined;
}

function extensions(inputs: PropertyMap, { publicKey, authorityKey, alternativeNames: names }: CertificateNames) {
  const isCa = inputs.isCaCertificate === true;
  const uses = listOf(inputs.allowedUses).map((use) => textOf(use) ?? "");
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
    // As Go's x509.CreateCertificate: a CA always names its own key.
    ...(isCa || inputs.setSubjectKeyId === true
      ? [extension(x509.id_ce_subjectKeyIdentifier, false, new x509.SubjectKeyIdentifier(keyIdentifier(publicKey)))]
      : []),
    ...(authority === undefined ? [] : [extension(x509.id_ce_authorityKeyIdentifier, false, authority)]),
    ...alternativeNamesExtension(names),
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

/** RFC 2986. */
function certificateRequest(parts: RequestParts, key: KeyObject, context: Mode): string {
  const names = alternativeNamesExtension(parts.alternativeNames);
  const values = [AsnConvert.serialize(new ExtensionRequest(names))];
  const body = new CertificationRequestInfo({
    version: 0,
    subject: parts.subject,
    subjectPKInfo: parts.publicKey,
    attributes: new RequestAttributes(
      names.length === 0 ? [] : [new x509.Attribute({ type: id_pkcs9_at_extensionRequest, values })],
    ),
  });
  return pem(
    "CERTIFICATE REQUEST",
    new CertificationRequest({
      certificationRequestInfo: body,
      signatureAlgorithm: ecdsaWithSHA256,
      signature: arrayBuffer(signature(der(body), key, context)),
    }),
  );
}

function readRequestPem(text: string): RequestParts {
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
function readIssuer(text: string): { readonly subject: x509.Name; readonly key: Buffer } {
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
function pem(label: string, value: object): string {
  const lines =
    der(value)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** Bytes of the first block. @throws RangeError when there is none. */
function fromPem(text: string): Buffer {
  const body = /-----BEGIN [A-Z0-9 ]+-----([\s\S]+?)-----END/.exec(text)?.[1];
  if (body === undefined) throw new RangeError("no PEM block");
  return Buffer.from(body, "base64");
}
