import { generateKeyPairSync } from "node:crypto";
import { type PropertyMap, textOf } from "../../components/gates/values.ts";
import { tlsResource } from "./tls.ts";

export interface KeyAndCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateNames {
  readonly commonName: string;
  readonly organization?: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

const dayHours = { validityPeriodHours: 24, setSubjectKeyId: true };

/** An output of the simulated tls provider, with real keys. */
function made(type: string, output: string, inputs: PropertyMap): string {
  return (
    textOf(tlsResource({ type: `tls:index/${type}`, urn: "", inputs }, { certificates: "real" }).outputs[output]) ?? ""
  );
}

const newKey = (): string =>
  generateKeyPairSync("ec", { namedCurve: "prime256v1" })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString();

/** An authority for simulated endpoints: ECDSA P-256, valid for a day. */
export function newAuthority(commonName: string): KeyAndCertificate {
  const key = newKey();
  const allowedUses = ["cert_signing", "digital_signature"];
  const inputs = { ...dayHours, privateKeyPem: key, subject: { commonName }, allowedUses, isCaCertificate: true };
  return { certificate: made("selfSignedCert:SelfSignedCert", "certPem", inputs), key };
}

export function issueServerCertificate(authority: KeyAndCertificate, names: CertificateNames): KeyAndCertificate {
  const { request, key } = newCertificateRequest(names);
  const issuer = { caCertPem: authority.certificate, caPrivateKeyPem: authority.key };
  const inputs = { ...dayHours, ...issuer, certRequestPem: request, allowedUses: ["digital_signature", "server_auth"] };
  return { certificate: made("locallySignedCert:LocallySignedCert", "certPem", inputs), key };
}

export function newCertificateRequest({ commonName, organization, dnsNames = [], ipAddresses = [] }: CertificateNames) {
  const key = newKey();
  const subject = { commonName, ...(organization === undefined ? {} : { organization }) };
  return {
    request: made("certRequest:CertRequest", "certRequestPem", { privateKeyPem: key, subject, dnsNames, ipAddresses }),
    key,
  };
}
