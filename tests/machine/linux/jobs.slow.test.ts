// Sees what nothing faster does: what the jobs write into stores, tokens and archives.
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { newAuthority } from "../../../plan/fakes/certificates.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleControlPlane, exampleLinuxWorker } from "../examples.ts";
import {
  caCertificate,
  bootedControlPlane as controlPlane,
  describeOnMachine,
  identity,
  machine,
  type Sandbox,
  secretPrefix,
  spec,
} from "./machine.ts";

describeOnMachine("jobs of Linux machines", () => {
  it("the node controller gets a certificate of a week in its own name, and not the authority's key", () => {
    const here = controlPlane();
    const { certificate, key } = newAuthority("kubernetes");
    here.write("/etc/kubernetes/pki/ca.crt", certificate);
    here.write("/etc/kubernetes/pki/ca.key", key);
    here.write("/run/fenestra-nodes/old", "");
    here.write("/run/nodes.prom", "old");
    here.runOrFail("/opt/fenestra/node-controller-identity.sh", "/run/fenestra-nodes", "/run/nodes.prom");
    const issued = new X509Certificate(here.read("/run/fenestra-nodes/client.pem"));
    assert.ok(issued.verify(new X509Certificate(certificate).publicKey));
    assert.deepEqual([issued.subject, issued.keyUsage], ["CN=fenestra:node-controller", ["1.3.6.1.5.5.7.3.2"]]);
    assert.equal(Math.round((Date.parse(issued.validTo) - Date.parse(issued.validFrom)) / 86_400_000), 7);
    assert.equal(here.read("/run/fenestra-nodes/client.pem").includes(key), false);
    assert.equal(here.read("/run/fenestra-nodes/ca.crt"), certificate);
    assert.equal(here.read("/run/nodes.prom"), "");
  });

  describe("publishing join secrets", () => {
    const publish = "/opt/fenestra/publish-join-secret.sh";
    const published = (here: Sandbox, place = ""): unknown =>
      JSON.parse(here.read(`/store/secrets/_fenestra_${spec.name}_join${place}.body`));
    /** Places for which tokens were made, in their order, behind the folder. */
    const made = (here: Sandbox): readonly string[] =>
      here
        .read("/store/tokens")
        .split("\n")
        .slice(0, -1)
        .map((place) => place.replace(/^.*\/join\b[/-]?/, ""));

    it("makes for each pool a token of two hours in a group of its own, with the CA and the endpoint", () => {
      const here = controlPlane();
      for (const pool of ["linux", "web-a"]) here.secret(`${secretPrefix}/join/${pool}`, "placeholder");
      const before = Date.now();
      here.runOrFail(publish);
      assert.deepEqual(made(here), ["", "linux", "web-a"]);
      const body = published(here, "_web-a");
      assert.ok(typeof body === "object" && body !== null && "Value" in body);
      const { Value, ...rest } = body;
      assert.deepEqual(rest, {
        Name: `${secretPrefix}/join/web-a`,
        Type: "SecureString",
        Tier: "Standard",
        Overwrite: true,
        KeyId: "arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef",
      });
      const secret = JSON.parse(String(Value));
      assert.deepEqual(Object.keys(secret), ["server", "caCertificate", "caCertHash", "token", "expires"]);
      assert.equal(secret.server, "https://aws-prod-api-0123456789abcdef.elb.eu-central-1.amazonaws.com:6443");
      assert.equal(secret.caCertificate, here.read("/etc/kubernetes/pki/ca.crt"));
      assert.match(secret.caCertHash, /^sha256:[0-9a-f]{64}$/);
      const life = (Date.parse(secret.expires) - before) / 1000;
      assert.ok(life > 7190 && life < 7260, secret.expires);
      const [id, text] = secret.token.split(".");
      const created = here.read("/store/created");
      assert.match(created, new RegExp(`  name: bootstrap-token-${id}\n`));
      assert.match(created, new RegExp(`  token-secret: '${text}'\n`));
      assert.match(created, new RegExp(`  expiration: '${secret.expires}'\n`));
      const own = "system:bootstrappers:fenestra:pool:web-a";
      assert.ok(created.endsWith(`  auth-extra-groups: system:bootstrappers:fenestra:workers,${own}\n`), created);
      // Whatever may be a pool's name is one (kubernetes, cluster-bootstrap/token/api/types.go).
      assert.match(own, /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/);
    });

    it("leaves alone what another machine has just published, gives a new pool its own, and mends what a restore took", () => {
      const here = controlPlane();
      here.secret(`${secretPrefix}/join/linux`, "placeholder");
      here.runOrFail(publish);
      const kept = here.read("/store/tokens");
      here.runOrFail(publish);
      assert.equal(here.read("/store/tokens"), kept);
      // One that was removed and added again has its token still, and a place that nobody has written.
      for (const pool of ["linux", "new"]) here.secret(`${secretPrefix}/join/${pool}`, "placeholder");
      here.runOrFail(publish);
      assert.deepEqual(made(here), ["", "linux", "linux", "new"]);
      here.write("/store/tokens", `${secretPrefix}/join/linux\n`);
      here.runOrFail(publish);
      assert.deepEqual(made(here), ["linux", "", "new"]);
    });

    it("fails where it cannot publish, takes that token back, and goes on with the other pools", () => {
      const here = controlPlane();
      for (const pool of ["linux", "web"]) here.secret(`${secretPrefix}/join/${pool}`, "placeholder");
      here.write("/store/fail", "^curl.*PutParameter.*/join/linux\n");
      const { matching } = here.fails(1, /the join secret .*\/join\/linux cannot be published/, publish);
      assert.equal(matching(/ delete secret bootstrap-token-/).length, 1);
      assert.deepEqual(made(here), ["", "linux", "web"]);
      assert.ok(published(here, "_web"));
    });

    it("finds the places of pools in a vault, and asks no other server for the rest of the list", () => {
      const azure = exampleSpec("azure-prod");
      const here = machine(exampleControlPlane(azure));
      here.write("/var/lib/fenestra/identity.env", identity);
      here.write("/etc/kubernetes/pki/ca.crt", caCertificate);
      const folder = `https://${azure.name}-join-ab12cd.vault.azure.net/secrets`;
      const list = (nextLink: string | null, ...more: readonly string[]) => {
        const names = ["credentials-01234567", "join", "join-web-a-01234567", "join-x", ...more];
        here.write(
          "/store/vault",
          JSON.stringify({ value: names.map((each) => ({ id: `${folder}/${each}` })), nextLink }),
        );
      };
      list(null);
      here.runOrFail(publish);
      assert.deepEqual(made(here), ["", "web-a-01234567"]);
      // A pool that was removed leaves its place behind (azure-native retains it); added again it has another one.
      list(null, "join-web-a-89abcdef");
      here.runOrFail(publish);
      assert.deepEqual(made(here), ["", "web-a-01234567", "web-a-89abcdef"]);
      list("https://elsewhere.vault.azure.net/secrets?page=2");
      here.fails(1, /the list of join secrets was answered with 000/, publish);
    });
  });

  it("collect logs and answers, no secret of the planted ones, and says what it leaves out", () => {
    const planted = readFileSync(new URL("../planted-secrets.txt", import.meta.url), "utf8");
    const secrets = [...planted.matchAll(/<<(.+?)>>/g)].map(([, secret = ""]) => secret);
    const lines = planted.replaceAll(/<<|>>/g, "");
    const here = machine(exampleLinuxWorker(spec));
    here.write("/var/log/fenestra/bootstrap.log", `${lines}join: failed after 3 s\n`);
    here.write("/var/log/fenestra/big.log", `first\n${`${"x".repeat(9_999)}\n`.repeat(2_200)}last\n`);
    here.write("/var/log/pods/shop/utf16.log", `${[...lines].join("\0")}\0`);
    here.write("/var/log/kubernetes/audit/audit.log", lines);
    here.write("/var/log/fenestra/admin.conf", lines);
    here.runOrFail("/opt/fenestra/collect-logs.sh");
    const text = gunzipSync(here.readBytes("/var/lib/fenestra/logs.tar.gz")).toString("utf8");
    assert.ok(secrets.length > 20);
    const leaked = secrets.filter((secret) => text.includes(secret));
    assert.deepEqual(leaked, []);
    for (const kept of [
      "join: failed after 3 s",
      "\nlast\n",
      "big.log: all but the last",
      "audit.log: not for others",
      "admin.conf: not for others",
    ])
      assert.ok(text.includes(kept), kept);
    assert.equal(text.includes("first\n"), false);
    assert.deepEqual(here.run("stat", "--format", "%a", "/var/lib/fenestra/logs.tar.gz").output, "600\n");
    assert.equal(here.run("bash", "-c", "ls /var/tmp").output, "");
  });
});
