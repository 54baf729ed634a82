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
import { ECDSASigValue, ecdsaWithSHA256 } from "@peculiar/asn1-ecc";
import { sha256WithRSAEncryption } from "@peculiar/asn1-rsa";
import { AsnConvert } from "@peculiar/asn1-schema";
import type { Name, SubjectAlternativeName, SubjectPublicKeyInfo } from "@peculiar/asn1-x509";
import {
  listOf,
  mapOf,
  type PropertyMap,
  type PropertyValue,
  Secret,
  textOf,
} from "../../components/gates/resources.ts";
import type { SimulatedResource } from "../program/engine.ts";
import type { ResourceRequest } from "../program/recorded.ts";
import { bytes, digest, hex } from "./identifiers.ts";
import type { CertificateMode, SimulatedContext } from "./provider.ts";
import {
  certificate,
  certificateRequest,
  distinguishedName,
  generalNames,
  publicKeyInfo,
  readIssuer,
  readRequestPem,
  type Signer,
} from "./x509.ts";

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
      const certRequestPem = certificateRequest(parts, signer(key, context));
      return { id: hex(40, urn), outputs: { certRequestPem, keyAlgorithm: algorithmOf(key) } };
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
    ? edwardsKey(urn, certificates)
    : algorithm === "ECDSA"
      ? ellipticKey(urn, textOf(inputs.ecdsaCurve), certificates)
      : rsaKey(urn, algorithm, inputs, certificates);
  const publicKey = createPublicKey(key);
  const der = publicKey.export({ type: "spki", format: "der" });
  const pem = (type: "pkcs8" | "pkcs1" | "sec1") => new Secret(key.export({ type, format: "pem" }).toString());
  return {
    id: createHash("sha1").update(der).digest("hex"),
    outputs: {
      privateKeyPem: pem(forSsh ? "pkcs8" : algorithm === "RSA" ? "pkcs1" : "sec1"),
      privateKeyPemPkcs8: pem("pkcs8"),
      publicKeyPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
      ...(forSsh
        ? { publicKeyOpenssh: opensshKey(der) }
        : {
            publicKeyFingerprintSha256: `SHA256:${createHash("sha256").update(der).digest("base64").replace(/=+$/, "")}`,
          }),
    },
  };
}

/** Precedes the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410, section 7). */
const edwardsPrefix = Buffer.from("302e020100300506032b657004220420", "hex");

/** A key for SSH; it signs nothing here. */
function edwardsKey(urn: string, mode: CertificateMode): KeyObject {
  const seed = mode === "real" ? randomBytes(32) : digest(urn, "key");
  return createPrivateKey({ key: Buffer.concat([edwardsPrefix, seed]), format: "der", type: "pkcs8" });
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
  const modulusLength = typeof inputs.rsaBits === "number" ? inputs.rsaBits : 2048;
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

type Names = Omit<
  Parameters<typeof certificate>[0],
  "serial" | "notBefore" | "notAfter" | "isCa" | "uses" | "namesKey"
>;

function signed(urn: string, inputs: PropertyMap, context: Mode, key: KeyObject, names: Names) {
  const notBefore = context.certificates === "real" ? new Date(Math.floor(Date.now() / 1000) * 1000) : fakeStart;
  const hours = typeof inputs.validityPeriodHours === "number" ? inputs.validityPeriodHours : 0;
  const notAfter = new Date(notBefore.getTime() + hours * hour);
  const serial = context.certificates === "real" ? randomBytes(16) : digest(urn, "serial").subarray(0, 16);
  // Positive, and of the same length in every run.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  const isCa = inputs.isCaCertificate === true;
  const uses = listOf(inputs.allowedUses).map((use) => textOf(use) ?? "");
  const parts = { ...names, serial, notBefore, notAfter, isCa, uses, namesKey: inputs.setSubjectKeyId === true };
  const outputs: PropertyMap = {
    certPem: certificate(parts, signer(key, context)),
    validityStartTime: rfc3339(notBefore),
    validityEndTime: rfc3339(notAfter),
    readyForRenewal: false,
    isCaCertificate: isCa,
    keyAlgorithm: algorithmOf(key),
  };
  return { id: BigInt(`0x${serial.toString("hex")}`).toString(), outputs };
}

function rfc3339(date: Date): string {
  return date.toISOString().replace(".000Z", "Z");
}

/** A fake certificate's signature is filler of the right form. */
function signer(key: KeyObject, { certificates }: Mode): Signer {
  if (key.asymmetricKeyType === "rsa")
    return { algorithm: sha256WithRSAEncryption, sign: (bytes) => sign("sha256", bytes, key) };
  return {
    algorithm: ecdsaWithSHA256,
    sign: (bytes) =>
      certificates === "real"
        ? sign("sha256", bytes, key)
        : Buffer.from(AsnConvert.serialize(new ECDSASigValue({ r: filler(bytes, "r"), s: filler(bytes, "s") }))),
  };
}

function filler(bytes: Buffer, part: string): ArrayBuffer {
  const number = digest(bytes.toString("hex"), part);
  number[0] = ((number[0] ?? 0) & 0x3f) | 0x40;
  return new Uint8Array(number).buffer;
}

function spki(key: KeyObject): SubjectPublicKeyInfo {
  return publicKeyInfo(createPublicKey(key).export({ type: "spki", format: "der" }));
}

function algorithmOf(key: KeyObject): string {
  return key.asymmetricKeyType === "rsa" ? "RSA" : "ECDSA";
}

function subject(inputs: PropertyMap, { certificates }: Mode): Name {
  const given = Object.fromEntries(
    Object.entries(mapOf(inputs.subject)).map(([name, value]) => [name, textOf(value) ?? ""]),
  );
  return distinguishedName(certificates === "real" ? given : { ...given, organizationalUnit: fakeUnit });
}

function alternativeNames(inputs: PropertyMap): SubjectAlternativeName | undefined {
  const texts = (value: PropertyValue | undefined) => listOf(value).map((item) => textOf(item) ?? "");
  return generalNames(texts(inputs.dnsNames), texts(inputs.ipAddresses));
}

function requiredText(inputs: PropertyMap, name: string): string {
  const text = textOf(inputs[name]);
  if (text === undefined) throw new Error(`a certificate needs ${name}`);
  return text;
}

function requiredKey(inputs: PropertyMap, name: string): KeyObject {
  return createPrivateKey(requiredText(inputs, name));
}
