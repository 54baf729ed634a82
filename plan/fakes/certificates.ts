import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { ecdsaWithSHA256 } from "@peculiar/asn1-ecc";
import type { Name, SubjectAlternativeName, SubjectPublicKeyInfo } from "@peculiar/asn1-x509";
import { certificate, certificateRequest, distinguishedName, generalNames, publicKeyInfo, readIssuer, type Signer } from "./x509.ts";

/** A certificate and its key, PEM. */
export interface KeyAndCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** Whom a certificate names. */
export interface CertificateNames {
  readonly commonName: string;
  readonly organization?: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

const dayMs = 86_400_000;

function newKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey;
}

function signer(key: KeyObject): Signer {
  return { algorithm: ecdsaWithSHA256, sign: (bytes) => sign("sha256", bytes, key) };
}

function publicKey(key: KeyObject): SubjectPublicKeyInfo {
  return publicKeyInfo(createPublicKey(key).export({ type: "spki", format: "der" }));
}

function pkcs8(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

function subjectOf({ commonName, organization }: CertificateNames): Name {
  return distinguishedName({ commonName, ...(organization === undefined ? {} : { organization }) });
}

function namesOf({ dnsNames = [], ipAddresses = [] }: CertificateNames): SubjectAlternativeName | undefined {
  return generalNames({ dnsNames, ipAddresses, uris: [] });
}

/** What is the same in every certificate of the harness: from a minute ago, for clocks that differ a little, to a day ahead. */
function common(): { serial: Buffer; notBefore: Date; notAfter: Date; namesKey: boolean } {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  const now = Date.now();
  return { serial, notBefore: new Date(now - 60_000), notAfter: new Date(now + dayMs), namesKey: true };
}

/** A certificate authority of the harness itself, for the endpoints that it simulates; ECDSA P-256, valid for a day. */
export function newAuthority(commonName: string): KeyAndCertificate {
  const key = newKey();
  const subject = distinguishedName({ commonName });
  const text = certificate(
    {
      ...common(),
      subject,
      issuer: subject,
      publicKey: publicKey(key),
      isCa: true,
      uses: ["cert_signing", "digital_signature"],
      alternativeNames: undefined,
      authorityKey: undefined,
    },
    signer(key),
  );
  return { certificate: text, key: pkcs8(key) };
}

/** A server certificate of an authority, valid for a day. */
export function issueServerCertificate(authority: KeyAndCertificate, names: CertificateNames): KeyAndCertificate {
  const key = newKey();
  const issuer = readIssuer(authority.certificate);
  const text = certificate(
    {
      ...common(),
      subject: subjectOf(names),
      issuer: issuer.subject,
      authorityKey: issuer.key,
      publicKey: publicKey(key),
      isCa: false,
      uses: ["digital_signature", "server_auth"],
      alternativeNames: namesOf(names),
    },
    signer(createPrivateKey(authority.key)),
  );
  return { certificate: text, key: pkcs8(key) };
}

/** A certificate signing request with a new key. */
export function newCertificateRequest(names: CertificateNames): { readonly request: string; readonly key: string } {
  const key = newKey();
  const request = certificateRequest(
    { subject: subjectOf(names), publicKey: publicKey(key), alternativeNames: namesOf(names) },
    signer(key),
  );
  return { request, key: pkcs8(key) };
}
