// Sees what nothing faster does: what the jobs write into stores, tokens and archives, in which order a renewal restarts
// a control plane, and a port that opens and closes over time.
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { newAuthority } from "../../../rehearsal/clouds/server.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleControlPlane, exampleLinuxWorker } from "../examples.ts";
import {
  caCertificate,
  bootedControlPlane as controlPlane,
  describeOnMachine,
  identity,
  machine,
  type Run,
  runningControlPlane as running,
  type Sandbox,
  secretPrefix,
  spec,
} from "./machine.ts";

describeOnMachine("jobs of Linux machines", () => {
  it("the node controller gets a certificate of a week alone", () => {
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
    const made = (here: Sandbox) =>
      here
        .read("/store/tokens")
        .split("\n")
        .slice(0, -1)
        .map((place) => place.replace(/^.*\/join\b[/-]?/, ""));

    it("makes each pool a token of two hours and its own group", () => {
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

    it("leaves what was just published, serves a new pool, and mends what a restore took", () => {
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

    it("takes a token back that it cannot publish, and serves other pools", () => {
      const here = controlPlane();
      for (const pool of ["linux", "web"]) here.secret(`${secretPrefix}/join/${pool}`, "placeholder");
      here.breaks("fail", "^curl.*PutParameter.*/join/linux");
      assert.equal(
        here
          .fails(1, /the join secret .*\/join\/linux cannot be published/, publish)
          .matching(/ delete secret bootstrap-token-/).length,
        1,
      );
      assert.deepEqual(made(here), ["", "linux", "web"]);
      assert.ok(published(here, "_web"));
    });

    it("has the machine's Node made again where it was deleted, once it was there", () => {
      const here = controlPlane();
      const started = ({ matching }: Run) =>
        matching(/^(systemctl restart kubelet|kubeadm .* mark-control-plane)/).length;
      here.write("/store/nodeless", "");
      assert.equal(started(here.runOrFail(publish)), 0);
      // The stage behind it waits for the Node.
      assert.equal(started(here.stage("node")), 1);
      here.write("/var/lib/fenestra/done/node", "");
      here.write("/store/nodeless", "");
      assert.equal(started(here.runOrFail(publish)), 2);
      // Whoever gives no answer has deleted nothing.
      here.breaks("fail", "^kubectl.* (annotate|get) node ");
      assert.equal(started(here.runOrFail(publish)), 0);
    });

    it("finds pools' places in a vault, and asks nobody else", () => {
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
      const { output, calls } = here.runOrFail(publish);
      assert.deepEqual(made(here), ["", "web-a-01234567"]);
      assert.match(here.read("/store/put"), /^"\{\\"server\\":\\"https:\/\/api\.azure-prod\.internal:6443/);
      assert.equal(`${output}${calls.join("\n")}`.includes("BEARER"), false);
      // A pool that was removed leaves its place behind (azure-native retains it); added again it has another one.
      list(null, "join-web-a-89abcdef");
      here.runOrFail(publish);
      assert.deepEqual(made(here), ["", "web-a-01234567", "web-a-89abcdef"]);
      list("https://elsewhere.vault.azure.net/secrets?page=2");
      here.fails(1, /the list of join secrets was answered with 000/, publish);
    });
  });

  it("collect logs without planted secrets, and say what is left out", () => {
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
    assert.deepEqual(
      secrets.filter((secret) => text.includes(secret)),
      [],
    );
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

const expired = `-----BEGIN CERTIFICATE-----
MIIBDDCBsgIBATAKBggqhkjOPQQDAjASMRAwDgYDVQQDDAdleHBpcmVkMB4XDTI0
MDEwMTAwMDAwMFoXDTI1MDEwMTAwMDAwMFowEjEQMA4GA1UEAwwHZXhwaXJlZDBZ
MBMGByqGSM49AgEGCCqGSM49AwEHA0IABAOHCAbn1+YPXWfBD3Xvq0BhcI4u6QAA
+XBryBu7JnY6UQJI6RZN4rgFTxxFOKiwWe9wvvD8+d+lTKm5pLMf190wCgYIKoZI
zj0EAwIDSQAwRgIhAJU7VwiB7k0ddA6OJMXJ8J0UyIi2GXBG0PL66JC2Z0ztAiEA
/QVaPS9syA2+E4fAgD83+RP8fIy4zogrCGxwZaQmXd8=
-----END CERTIFICATE-----
`;

describeOnMachine("renewal of certificates", () => {
  const renew = "/opt/fenestra/renew-certificates.sh";
  /** Its waits for a turn, kubeadm and restarts, while no member has a quorum. */
  const alone = (here: Sandbox) => {
    here.breaks("fail", "get health");
    const { calls } = here.runOrFail(renew);
    assert.equal(here.list("/etc/kubernetes/manifests").length, 4);
    assert.equal(here.has("/var/lib/fenestra/renewing"), false);
    const restarts = ["certs", "etcd", ":2381/livez", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
    assert.deepEqual(
      calls
        .flatMap((call) => /certs|:2381\/livez|(?<=--name \^\()[a-z-]+/.exec(call)?.[0] ?? [])
        .slice(-restarts.length),
      restarts,
    );
    return calls.slice(
      0,
      calls.findIndex((call) => call.startsWith("kubeadm")),
    );
  };

  it("happens in time, and restarts each component", () => {
    const here = running();
    const { matching } = here.runOrFail(renew);
    assert.deepEqual(matching(/^kubeadm/), ["kubeadm certs renew all --config /etc/kubernetes/kubeadm.yaml"]);
    assert.equal(new Set(matching(/^crictl stop --timeout 30 [0-9a-f]{64}$/)).size, 4);
    const all = ["health", "health", "health"];
    // All members are well before the first is taken away, and again before the API server is.
    const order = matching(/^(kubeadm|sleep|crictl stop|etcdctl.*get health)/);
    assert.deepEqual(
      order.slice(1).map((call) => /health|kubeadm|stop/.exec(call)?.[0]),
      [...all, "kubeadm", "stop", ...all, "stop", "stop", "stop"],
    );
    assert.equal(here.list("/etc/kubernetes/manifests").length, 4);
  });

  for (const [title, set, code, says] of [
    ["touches nothing while a member of etcd is not well", {}, 1, /a member of etcd is not well/],
    ["does nothing before its time", { RENEW_DAYS: 1 }, 0, /^$/],
    [
      "fails when an authority runs out soon",
      { RENEW_DAYS: 1, CA_WARNING_DAYS: 90 },
      1,
      /warning: the authority in \/etc\/kubernetes\/pki\/ca\.crt runs out on /,
    ],
  ] as const)
    it(title, () => {
      const here = running();
      here.set(set);
      here.breaks("fail", "get health");
      assert.deepEqual(here.fails(code, says, renew).matching(/^(kubeadm|crictl)/), []);
      assert.equal(here.list("/etc/kubernetes/manifests").length, 4);
    });

  it("waits for its turn alone when the certificates end soon", () => {
    const here = running();
    here.set({ URGENT_DAYS: 14 });
    assert.match(alone(here).join("\n"), /^sleep \d+\n.* get health(\n|$)/);
  });

  it("waits for nobody where a certificate has expired", () => {
    const here = running();
    here.write("/etc/kubernetes/pki/etcd/server.crt", expired);
    assert.deepEqual(alone(here), []);
  });

  it("waits for neither turn nor health where it is alone", () => {
    const here = running();
    here.set({ MEMBER_ADDRESSES: "10.20.224.10" });
    assert.match(alone(here)[0] ?? "", / get health$/);
  });

  it("renews a kubelet's ended certificate, also after it was cut off", () => {
    const here = running();
    const own = "/var/lib/kubelet/pki/kubelet-client-current.pem";
    here.set({ RENEW_DAYS: 1 });
    here.write(own, expired);
    here.breaks("cut", "kubeconfig kubelet");
    assert.equal(here.run(renew).code, 137);
    const { code, output, calls } = here.run(renew);
    assert.deepEqual([code, here.has(own), here.has("/etc/kubernetes/kubelet.conf")], [0, false, true], output);
    assert.equal(calls.at(-1), "systemctl restart kubelet.service");
    here.write(own, here.read("/etc/kubernetes/pki/ca.crt"));
    assert.deepEqual(here.run(renew).calls, []);
  });

  it("goes on where it was cut off, with all manifests", () => {
    const here = running();
    here.breaks("cut", "crictl stop");
    assert.equal(here.run(renew).code, 137);
    assert.equal(here.list("/etc/kubernetes/manifests").length, 4);
    here.set({ RENEW_DAYS: 1 });
    const { code, matching } = here.run(renew);
    assert.deepEqual([code, matching(/^crictl stop/).length], [0, 4]);
  });

  it("takes etcd away when it goes on only while the others are well, whatever its own is", () => {
    const [own, other] = spec.controlPlane.members.map(({ address }) => address);
    for (const [sick, stops] of [
      [other, 0],
      [own, 1],
    ] as const) {
      const here = running();
      here.breaks("cut", "crictl stop");
      assert.equal(here.run(renew).code, 137);
      here.set({ READY_ATTEMPTS: 1 });
      here.breaks("fail", `--endpoints https://${sick}:2379.* get health`);
      assert.equal(
        here
          .fails(1, stops === 0 ? /the certificates are not renewed now/ : /etcd does not come back/, renew)
          .matching(/^crictl stop/).length,
        stops,
        sick,
      );
      // One that ends meanwhile waits for nobody.
      here.write("/etc/kubernetes/pki/etcd/server.crt", expired);
      assert.equal(here.runOrFail(renew).matching(/^crictl stop/).length, 4, sick);
    }
  });
});

/**
 * In place of the pause between two looks: notes whether the port is open, and ends the run when all answers are given.
 */
const look = `#!/bin/bash
/bin/sleep 0.5
(: </dev/tcp/127.0.0.1/10261) 2>/dev/null && echo open >>/store/ports || echo closed >>/store/ports
[ -s /store/answers ] || echo 'cut ^sleep' >/store/faults
`;

describeOnMachine("the health port of a Linux machine", () => {
  function ports(patience: number, answers: readonly string[]): readonly string[] {
    const here = machine(exampleLinuxWorker(spec));
    here.write("/var/lib/fenestra/identity.env", identity);
    here.writeScript("/store/on-sleep", look);
    here.write("/store/answers", answers.map((answer) => `${answer}\n`).join(""));
    here.set({ HEALTH_PATIENCE: patience });
    const { output } = here.run("bash", "-c", "ip link set lo up; exec bash /opt/fenestra/health.sh");
    return here.has("/store/ports") ? here.read("/store/ports").trim().split("\n") : assert.fail(output);
  }

  it("is open while the node is Ready", () => {
    assert.deepEqual(ports(0, ["", "False", "Unknown", "True", "True", "False", "", "True"]), [
      ...["closed", "closed", "closed", "open", "open", "closed", "closed", "open"],
    ]);
  });

  it("stays open while nobody says, and a while longer", () => {
    assert.deepEqual(ports(60, ["", "True", "", "False"]), ["closed", "open", "open", "open"]);
  });

  it("goes with a word on the Node about failed units, and its end", () => {
    const here = machine(exampleLinuxWorker(spec));
    here.write("/var/lib/fenestra/identity.env", identity);
    here.write("/store/answers", "True\nTrue\nTrue\n");
    here.write(
      "/store/units",
      "Result=success\nId=fenestra-drain.service\n\nResult=exit-code\nId=fenestra-a.service\n\nId=fenestra-b.service\nResult=timeout\n",
    );
    here.writeScript(
      "/store/on-sleep",
      "#!/bin/bash\n[ \"$(wc -l </store/answers)\" -gt 1 ] || rm -f /store/units\n[ -s /store/answers ] || echo 'cut ^sleep' >/store/faults\n",
    );
    const { output, calls } = here.run("bash", "-c", "ip link set lo up; exec bash /opt/fenestra/health.sh");
    assert.deepEqual(
      calls.flatMap((call) => /annotate .* (\S+)$/.exec(call)?.[1] ?? []),
      ["fenestra.dev/failed=fenestra-a.service,fenestra-b.service", "fenestra.dev/failed-"],
      output,
    );
  });
});
