import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { CertificateMode } from "../../plan/fakes/provider.ts";
import { fakeUnit } from "../../plan/fakes/tls.ts";
import type { SimulatedCloud } from "../../plan/program/engine.ts";
import { type PropertyMap, Secret, textOf } from "../../plan/program/values.ts";
import { requestFor } from "../support/recording.ts";

const place = { region: "eu-central-1", accountId: "123456789012" };

const cloud = (): SimulatedCloud => simulatedCloud(place, "fake");

function text(value: PropertyMap[string] | undefined): string {
  const found = textOf(value);
  assert.ok(found !== undefined, "a text is missing");
  return found;
}

describe("the simulated AWS", () => {
  it("gives ids, ARNs and names in AWS's forms, the same in every run", () => {
    const make = (type: string, inputs: PropertyMap) => cloud()(requestFor(type, "n", inputs));
    const vpc = make("aws:ec2/vpc:Vpc", {});
    assert.match(text(vpc.outputs.arn), /^arn:aws:ec2:eu-central-1:123456789012:vpc\/vpc-[0-9a-f]{17}$/);
    assert.deepEqual(make("aws:ec2/vpc:Vpc", {}), vpc);
    const { id, outputs } = make("aws:lb/loadBalancer:LoadBalancer", {
      name: "dev-api",
      loadBalancerType: "network",
      internal: true,
    });
    assert.match(
      id,
      /^arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer\/net\/dev-api\/[0-9a-f]{16}$/,
    );
    assert.match(text(outputs.dnsName), /^dev-api-[0-9a-f]{16}\.elb\.eu-central-1\.amazonaws\.com$/);
    assert.match(make("aws:iam/role:Role", {}).id, /^n-[0-9a-f]{7}$/);
    const parameter = make("aws:ssm/parameter:Parameter", { name: "/a/b", value: "plain" });
    assert.ok(parameter.outputs.value instanceof Secret);
  });

  it("refuses a provider that it does not know", () => {
    assert.throws(
      () => cloud()(requestFor("gcp:compute/instance:Instance", "x", {})),
      /no simulation of the provider of gcp/,
    );
  });
});

/** A CA, and a certificate that it signed, as a program makes them. */
function certificates(mode: CertificateMode) {
  const simulate = simulatedCloud(place, mode);
  const key = (name: string) =>
    simulate(requestFor("tls:index/privateKey:PrivateKey", name, { algorithm: "ECDSA", ecdsaCurve: "P256" })).outputs;
  const caKey = key("ca");
  const ca = simulate(
    requestFor("tls:index/selfSignedCert:SelfSignedCert", "ca", {
      privateKeyPem: caKey.privateKeyPem ?? "",
      isCaCertificate: true,
      validityPeriodHours: 87_600,
      allowedUses: ["digital_signature", "key_encipherment", "cert_signing"],
      subject: { commonName: "kubernetes" },
    }),
  ).outputs;
  const leafKey = key("leaf");
  const csr = simulate(
    requestFor("tls:index/certRequest:CertRequest", "leaf", {
      privateKeyPem: leafKey.privateKeyPem ?? "",
      subject: { commonName: "kubernetes-admin", organization: "kubeadm:cluster-admins" },
      dnsNames: ["api.example.com"],
      ipAddresses: ["10.96.0.1", "fd00::1"],
    }),
  ).outputs;
  const leaf = simulate(
    requestFor("tls:index/locallySignedCert:LocallySignedCert", "leaf", {
      certRequestPem: csr.certRequestPem ?? "",
      caPrivateKeyPem: caKey.privateKeyPem ?? "",
      caCertPem: ca.certPem ?? "",
      validityPeriodHours: 8760,
      allowedUses: ["client_auth", "digital_signature"],
    }),
  ).outputs;
  return { ca, caKey, leaf, leafKey };
}

describe("the simulated tls provider", () => {
  it("makes real certificates that verify", () => {
    const made = certificates("real");
    const ca = new X509Certificate(text(made.ca.certPem));
    const leaf = new X509Certificate(text(made.leaf.certPem));
    assert.equal(ca.verify(ca.publicKey), true);
    assert.equal(leaf.verify(ca.publicKey), true);
    assert.equal(leaf.checkIssued(ca), true);
    assert.equal(ca.ca, true);
    assert.equal(leaf.ca, false);
    assert.equal(leaf.subject, "O=kubeadm:cluster-admins\nCN=kubernetes-admin");
    assert.equal(leaf.issuer, "CN=kubernetes");
    assert.equal(leaf.subjectAltName, "DNS:api.example.com, IP Address:10.96.0.1, IP Address:FD00:0:0:0:0:0:0:1");
    assert.deepEqual(leaf.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
    assert.equal(leaf.checkPrivateKey(createPrivateKey(text(made.leafKey.privateKeyPem))), true);
    assert.equal(leaf.validToDate.getTime() - leaf.validFromDate.getTime(), 8760 * 3_600_000);
    assert.match(text(made.caKey.privateKeyPem), /^-----BEGIN EC PRIVATE KEY-----\n/);
    assert.ok(made.caKey.privateKeyPem instanceof Secret);
    assert.ok(!(made.ca.certPem instanceof Secret));
  });

  it("makes fakes that can be read, say what they are, verify nothing and never change", () => {
    const made = certificates("fake");
    const ca = new X509Certificate(text(made.ca.certPem));
    const leaf = new X509Certificate(text(made.leaf.certPem));
    assert.equal(ca.subject, `OU=${fakeUnit}\nCN=kubernetes`);
    assert.equal(leaf.checkIssued(ca), true);
    assert.equal(leaf.verify(ca.publicKey), false);
    assert.equal(ca.validFromDate.toISOString(), "2026-01-01T00:00:00.000Z");
    assert.equal(leaf.checkPrivateKey(createPrivateKey(text(made.leafKey.privateKeyPem))), true);
    assert.equal(text(made.leaf.certPem), text(certificates("fake").leaf.certPem));
    assert.equal(
      text(made.leafKey.publicKeyPem),
      createPublicKey(text(made.leafKey.privateKeyPem)).export({ type: "spki", format: "pem" }),
    );
  });
});

describe("the simulated AWS, by AWS's limits", () => {
  const key = "arn:aws:kms:eu-west-1:123456789012:key/disks";
  const policy = (resources: readonly string[], action = "s3:GetObject") =>
    JSON.stringify({ Statement: [{ Effect: "Allow", Action: [action], Resource: resources }] });
  const long = policy(Array.from({ length: 400 }, () => "arn:aws:s3:::a-bucket-of-mine"));
  const rows: readonly (readonly [type: string, inputs: PropertyMap, says: RegExp])[] = [
    ["iam/role:Role", { assumeRolePolicy: policy(Array.from({ length: 200 }, () => "arn:aws:s3:::b")) }, /of 2048/],
    ["ec2/securityGroup:SecurityGroup", { name: "sg-prod-workers" }, /begins with sg-/],
    ["lb/loadBalancer:LoadBalancer", { name: "internal-api" }, /begins with internal-/],
    ["s3/bucket:Bucket", { bucket: "sthree-x" }, /begins with sthree-/],
    ["ebs/volume:Volume", { kmsKeyId: key }, /is not in eu-central-1/],
    ["ec2/launchTemplate:LaunchTemplate", { blockDeviceMappings: [{ ebs: { kmsKeyId: key } }] }, /is not in/],
    ["iam/role:Role", { path: `/${"a".repeat(511)}/` }, /ValidationError: path/],
    ["iam/policy:Policy", { policy: long }, /LimitExceeded: \d+ of 6144/],
    ["iam/rolePolicy:RolePolicy", { policy: long }, /LimitExceeded: \d+ of 10240/],
    ["iam/rolePolicy:RolePolicy", { policy: policy(["my-bucket"]) }, /MalformedPolicyDocument: my-bucket/],
    ["iam/rolePolicy:RolePolicy", { policy: policy(["*"], "GetObject") }, /MalformedPolicyDocument: GetObject/],
    ["iam/role:Role", { tags: { Name: "a", name: "b" } }, /Duplicate tag keys/],
  ];
  for (const [type, inputs, says] of rows)
    it(`refuses: ${type} ${says}`, () => {
      assert.throws(() => cloud()(requestFor(`aws:${type}`, "n", inputs)), says);
    });
});
