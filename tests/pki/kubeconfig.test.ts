import assert from "node:assert/strict";
import { parse } from "yaml";
import { kubeconfigClient } from "../../components/gates/adminClient.ts";
import { kubeconfig, signInKubeconfig } from "../../components/pki/pki.ts";

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

  it("checks the certificate against another name when one is given", () => {
    const { clusters } = parse(kubeconfig({ ...args, tlsServerName: "internal.example" }));
    assert.equal(clusters[0].cluster["tls-server-name"], "internal.example");
  });

  it("is read back as a client of the API", () => {
    const client = { certificate: args.clientCertificate, key: args.clientKey };
    assert.deepEqual(kubeconfigClient(kubeconfig(args)), {
      server: args.server,
      caCertificate: args.caCertificate,
      client,
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
