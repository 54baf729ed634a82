import * as pulumi from "@pulumi/pulumi";
import * as tls from "@pulumi/tls";
import type { ServerCertificate } from "./addOnEntry.ts";

const hoursPerYear = 365 * 24;
const keyType = { algorithm: "ECDSA", ecdsaCurve: "P256" } as const;

export interface WebhookCertificateArgs {
  /** Host name by which the API server calls the webhook: `<service>.<namespace>.svc`. */
  readonly host: string;
}

/**
 * A server certificate for a webhook in the cluster, of a separate authority, so that no certificate manager is needed. It lasts two years
 * and is renewed by an update in its second one; the authority lasts ten.
 */
export class WebhookCertificate extends pulumi.ComponentResource implements ServerCertificate {
  readonly certificate: pulumi.Output<string>;
  readonly key: pulumi.Output<string>;
  readonly caBundle: pulumi.Output<string>;

  constructor(name: string, args: WebhookCertificateArgs, options: pulumi.ComponentResourceOptions) {
    super("fenestra:kubernetes:WebhookCertificate", name, {}, options);
    const parent = { parent: this };
    const authorityKey = new tls.PrivateKey(`${name}-ca-key`, keyType, parent);
    const authority = new tls.SelfSignedCert(
      `${name}-ca`,
      {
        privateKeyPem: authorityKey.privateKeyPem,
        subject: { commonName: `${name}-ca` },
        isCaCertificate: true,
        validityPeriodHours: 10 * hoursPerYear,
        allowedUses: ["cert_signing", "digital_signature"],
      },
      parent,
    );
    const key = new tls.PrivateKey(`${name}-key`, keyType, parent);
    const request = new tls.CertRequest(
      `${name}-request`,
      { privateKeyPem: key.privateKeyPem, subject: { commonName: args.host }, dnsNames: [args.host] },
      parent,
    );
    const certificate = new tls.LocallySignedCert(
      `${name}-certificate`,
      {
        certRequestPem: request.certRequestPem,
        caPrivateKeyPem: authorityKey.privateKeyPem,
        caCertPem: authority.certPem,
        validityPeriodHours: 2 * hoursPerYear,
        earlyRenewalHours: hoursPerYear,
        allowedUses: ["digital_signature", "server_auth"],
      },
      parent,
    );
    this.certificate = certificate.certPem;
    this.key = key.privateKeyPem;
    this.caBundle = authority.certPem.apply((pem) => Buffer.from(pem, "utf8").toString("base64"));
    this.registerOutputs();
  }
}
