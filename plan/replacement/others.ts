import { type ReplacementRow, row } from "./row.ts";

const signed = "internal/provider/common_cert.go";
const subject = ["privateKeyPem", "subject", "dnsNames", "ipAddresses", "uris"];

/**
 * hashicorp/terraform-provider-tls and hashicorp/terraform-provider-random, internal/provider, which @pulumi/tls and @pulumi/random bridge.
 * A certificate is also replaced when its time to renew has come, which no comparison of inputs shows.
 */
export const otherRows: Readonly<Record<string, ReplacementRow>> = {
  "random:index/randomBytes:RandomBytes": row("internal/provider/resource_bytes.go", ["length", "keepers"], {
    data: "what is encrypted with these bytes",
  }),
  "random:index/randomPassword:RandomPassword": row("internal/provider/resource_password.go", [
    ...["length", "lower", "upper", "numeric", "special", "minLower", "minUpper", "minNumeric", "minSpecial"],
    ...["overrideSpecial", "keepers"],
  ]),
  "random:index/randomString:RandomString": row("internal/provider/resource_string.go", [
    ...["length", "lower", "upper", "numeric", "special", "minLower", "minUpper", "minNumeric", "minSpecial"],
    ...["overrideSpecial", "keepers"],
  ]),
  "tls:index/privateKey:PrivateKey": row("internal/provider/resource_private_key.go", ["algorithm", "ecdsaCurve", "rsaBits"]),
  "tls:index/certRequest:CertRequest": row("internal/provider/resource_cert_request.go", subject),
  "tls:index/selfSignedCert:SelfSignedCert": row(signed, [
    ...subject,
    ...["allowedUses", "validityPeriodHours", "isCaCertificate", "setSubjectKeyId", "setAuthorityKeyId"],
  ]),
  "tls:index/locallySignedCert:LocallySignedCert": row(signed, [
    ...["certRequestPem", "caCertPem", "caPrivateKeyPem", "allowedUses", "validityPeriodHours", "isCaCertificate"],
    "setSubjectKeyId",
  ]),
};
