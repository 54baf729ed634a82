import assert from "node:assert/strict";
import { parse } from "yaml";
import { Secret, textOf } from "../../components/gates/values.ts";
import { expiryWarning, kubeconfig, Pki, signInKubeconfig } from "../../components/pki/pki.ts";
import { ofType, withMocks } from "../support/mocks.ts";

function make(serviceAccountKeys: readonly string[] = ["ecdsa"], encryptionKeys: readonly string[] = ["key1"]) {
  return withMocks(() => {
    const pki = new Pki("demo-pki", {
      cluster: "demo",
      protect: true,
      serviceAccountKeys,
      encryptionKeys,
      kubeconfigGeneration: 2,
    });
    return {
      kubeconfig: pki.kubeconfig("people", "https://api:6443"),
      ca: pki.kubernetesCa.certificate,
      caKey: pki.kubernetesCa.key,
      serviceAccountKey: pki.serviceAccountKey,
      encryptionKey: pki.encryptionKeys[0]?.[1],
    };
  });
}

describe("keys and certificates", () => {
  it("of service accounts are RSA-2048 but the first, and only the one that signs is protected", async () => {
    const keys = ofType(await make(["rsa-1", "ecdsa"]), "tls:index/privateKey:PrivateKey");
    const of = (name: string) => [keys.get(name)?.inputs, keys.get(name)?.options.protect];
    assert.deepEqual(of("demo-pki-service-account-rsa-1"), [{ algorithm: "RSA", rsaBits: 2048 }, true]);
    assert.deepEqual(of("demo-pki-service-account"), [{ algorithm: "ECDSA", ecdsaCurve: "P256" }, false]);
  });

  it("encrypt with 32 random bytes, and only those that encrypt are protected", async () => {
    assert.deepEqual(
      [...ofType(await make(["ecdsa"], ["key2", "key1"]), "random:index/randomBytes:RandomBytes").values()].map(
        ({ name, inputs, options }) => [name, inputs, options.protect],
      ),
      [
        ["demo-pki-encryption-key-key2", { length: 32 }, true],
        ["demo-pki-encryption-key", { length: 32 }, false],
      ],
    );
  });

  it("leave as secrets, except the certificates", async () => {
    const { outputs } = (await make()).program;
    assert.deepEqual(
      Object.entries(outputs)
        .sort()
        .map(([name, value]) => [name, value instanceof Secret]),
      [
        ["ca", false],
        ["caKey", true],
        ["encryptionKey", true],
        ["kubeconfig", true],
        ["serviceAccountKey", true],
      ],
    );
    assert.match(textOf(outputs.kubeconfig) ?? "", /server: https:\/\/api:6443/);
  });
});

describe("the warning of an authority's end", () => {
  const end = "2036-01-01T00:00:00Z";
  const warning = (days: number) => expiryWarning("etcd-ca", end, Date.parse(end) - days * 86_400_000);

  it("begins 90 days before, with the authority, the day and the time that is left, and does not end with it", () => {
    assert.deepEqual([warning(3650), warning(90)], [undefined, undefined]);
    assert.equal(
      warning(89),
      "The certificate authority etcd-ca runs out on 2036-01-01T00:00:00Z, in 89 days; it is not renewed automatically. docs/operations/keys.md says how to replace it.",
    );
    assert.match(warning(-1) ?? "", /has run out on 2036-01-01T00:00:00Z;/);
  });
});

const args = {
  cluster: "demo",
  server: "https://api.example:6443",
  caCertificate: "CA\n",
  clientCertificate: "CERT\n",
  clientKey: "KEY\n",
};

describe("kubeconfig", () => {
  it("names one cluster, one user and the context that joins them", () => {
    assert.deepEqual(parse(kubeconfig(args)), {
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        { name: "demo", cluster: { server: "https://api.example:6443", "certificate-authority-data": "Q0EK" } },
      ],
      users: [{ name: "demo-admin", user: { "client-certificate-data": "Q0VSVAo=", "client-key-data": "S0VZCg==" } }],
      contexts: [{ name: "demo", context: { cluster: "demo", user: "demo-admin" } }],
      "current-context": "demo",
    });
  });

  it("lets people sign in by kubectl's plug-in, and holds no secret", () => {
    const issuer = { name: "corp", issuer: "https://id.example", clientId: "kubernetes", usernameClaim: "email" };
    const { cluster, server, caCertificate } = args;
    const { users, contexts } = parse(
      signInKubeconfig({ cluster, server, caCertificate, issuer: { ...issuer, certificateAuthority: "ROOT\n" } }),
    );
    assert.deepEqual(contexts, [{ name: "demo", context: { cluster: "demo", user: "corp" } }]);
    assert.deepEqual(users[0].user.exec.args, [
      "oidc-login",
      "get-token",
      "--oidc-issuer-url=https://id.example",
      "--oidc-client-id=kubernetes",
      "--oidc-extra-scope=email",
      "--certificate-authority-data=Uk9PVAo=",
    ]);
  });
});
