import assert from "node:assert/strict";
import { afterEach, before, describe, it } from "mocha";
import { exampleLinuxWorker } from "./examples.ts";
import {
  bootedControlPlane as controlPlane,
  disposeMachine,
  entry,
  identity,
  joinSecret,
  machine,
  needsNamespaces,
  secretPrefix,
  spec,
} from "./machine.ts";
import type { Sandbox } from "./sandbox.ts";

function worker(): Sandbox {
  const here = machine(exampleLinuxWorker(spec));
  here.write("/var/lib/fenestra/identity.env", identity);
  return here;
}

/** Two rounds of a drain, each of so many seconds of real time; then its pods are gone. */
const twoRounds = (seconds: number): string => `#!/bin/bash
store=\${0%/*}
[ -e "$store/pods" ] || exit 0
/bin/sleep ${seconds}
echo >>"$store/rounds"
[ "$(wc -l <"$store/rounds")" -lt 2 ] || rm "$store/pods"
`;

describe("jobs of Linux machines", function () {
  this.timeout(60_000);
  before(needsNamespaces);
  afterEach(disposeMachine);

  describe("publishing the join secret", () => {
    const publish = "/opt/fenestra/publish-join-secret.sh";

    it("makes a token of two hours and publishes it with the CA and the endpoint", () => {
      const here = controlPlane();
      const before = Date.now();
      const { code, output } = here.run(publish);
      assert.equal(code, 0, output);
      const body: unknown = JSON.parse(here.read(`/store/secrets/_fenestra_${spec.name}_join.body`));
      assert.ok(typeof body === "object" && body !== null && "Value" in body);
      const { Value, ...rest } = body;
      assert.deepEqual(rest, {
        Name: `${secretPrefix}/join`,
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
    });

    it("leaves a secret alone that another machine has just published", () => {
      const here = controlPlane();
      here.secret(`${secretPrefix}/join`, joinSecret(7000));
      const { code, calls } = here.run(publish);
      assert.equal(code, 0);
      assert.deepEqual(
        calls.filter((call) => call.startsWith("kubectl")),
        [],
      );
      here.secret(`${secretPrefix}/join`, joinSecret(5000));
      assert.equal(here.run(publish).calls.filter((call) => / create /.test(call)).length, 1);
    });

    it("fails when it cannot publish, and takes the token back", () => {
      const here = controlPlane();
      // The second request of each attempt writes: only it carries the secret.
      here.write("/store/fail", "^curl.*PutParameter\n");
      const { code, output, calls } = here.run(publish);
      assert.equal(code, 1);
      assert.match(output, /the join secret cannot be published/);
      assert.equal(calls.filter((call) => / delete secret bootstrap-token-/.test(call)).length, 1);
    });

    it("removes tokens whose time is over, and no others", () => {
      const here = controlPlane();
      const date = (seconds: number): string => Buffer.from(new Date(Date.now() + seconds * 1000).toISOString()).toString("base64");
      here.write("/store/tokens", `bootstrap-token-aaaaaa ${date(-10)}\nbootstrap-token-bbbbbb ${date(3000)}\n`);
      const { calls } = here.run(publish);
      assert.deepEqual(
        calls.filter((call) => call.includes(" delete ")).map((call) => call.replace(/.*delete /, "")),
        ["secret bootstrap-token-aaaaaa --ignore-not-found"],
      );
    });
  });

  describe("a drain", () => {
    it("moves what can move, deletes what is left in the end, and lets the machine go", () => {
      const here = worker();
      here.set({ DRAIN_SECONDS: 0 });
      // The last thing the script does is to sleep for ever.
      here.writeScript("/store/on-sleep", "#!/bin/bash\nexit 0\n");
      here.write("/store/notice", "Terminated");
      here.write(
        "/store/pods",
        "shop\tweb-1\tRunning\tReplicaSet\t\nkube-system\tproxy\tRunning\tDaemonSet\t\nkube-system\tetcd\tRunning\tNode\thash\nshop\tjob-1\tSucceeded\tJob\t\n",
      );
      const { code, output, calls } = here.run("/opt/fenestra/drain.sh");
      assert.equal(code, 0, output);
      const kubectl = calls.filter((call) => call.startsWith("kubectl")).map((call) => call.replace(/^kubectl --kubeconfig \S+ /, ""));
      assert.deepEqual(
        kubectl.filter((call) => /^(cordon|delete)/.test(call)),
        ["cordon i-0123456789abcdef0", "delete pod --namespace shop web-1 --wait=false"],
      );
      assert.equal(calls.filter((call) => call.includes("LifecycleHookName=terminate")).length, 1);
    });

    it("tells the group in intervals that it goes on, and only while it does", () => {
      const beats = (heartbeat: number): readonly string[] => {
        const here = worker();
        here.set({ DRAIN_SECONDS: 60, DRAIN_HEARTBEAT: heartbeat });
        here.write("/store/notice", "Terminated");
        here.write("/store/pods", "shop\tweb-1\tRunning\tReplicaSet\t\n");
        // The script's clock is the real one and counts whole seconds.
        here.writeScript("/store/on-sleep", twoRounds(1.1 * heartbeat));
        const { code, output, calls } = here.run("/opt/fenestra/drain.sh");
        assert.equal(code, 0, output);
        return calls.flatMap((call) => /Action=(\w+)&Version=2011-01-01.*LifecycleHookName=terminate/.exec(call)?.[1] ?? []);
      };
      const heartbeat = "RecordLifecycleActionHeartbeat";
      assert.deepEqual(beats(1), [heartbeat, heartbeat, heartbeat, "CompleteLifecycleAction"]);
      assert.deepEqual(beats(0), ["CompleteLifecycleAction"]);
    });

    it("goes on when the group does not answer", () => {
      const here = worker();
      here.set({ DRAIN_SECONDS: 60, DRAIN_HEARTBEAT: 1 });
      here.write("/store/notice", "Terminated");
      here.write("/store/fail", "RecordLifecycleActionHeartbeat\n");
      here.write("/store/pods", "shop\tweb-1\tRunning\tReplicaSet\t\n");
      here.writeScript("/store/on-sleep", twoRounds(0));
      const { code, output, calls } = here.run("/opt/fenestra/drain.sh");
      assert.equal(code, 0, output);
      assert.match(output, /the group was not told that the drain goes on/);
      assert.ok(calls.some((call) => call.includes("CompleteLifecycleAction")));
    });

    it("evicts one pod after the other by the eviction API", () => {
      const here = worker();
      here.set({ DRAIN_SECONDS: 30 });
      here.write("/store/notice", "Terminated");
      here.write("/store/pods", "shop\tweb-1\tRunning\tReplicaSet\t\n");
      here.writeScript("/store/on-sleep", '#!/bin/bash\nrm -f "$(dirname "$0")/pods"\n');
      const { code, output, calls } = here.run("/opt/fenestra/drain.sh");
      assert.equal(code, 0, output);
      assert.equal(calls.filter((call) => call.includes("create --raw /api/v1/namespaces/shop/pods/web-1/eviction")).length, 1);
      assert.deepEqual(
        calls.filter((call) => call.includes("delete pod")),
        [],
      );
    });
  });

  it("runs the bootstrap of a worker before any of this", () => {
    const here = machine(exampleLinuxWorker(spec));
    here.write("/store/address", "10.20.0.9");
    here.secret(`${secretPrefix}/join`, joinSecret(3600));
    const { code, output, calls } = here.run(entry);
    assert.equal(code, 0, output);
    assert.equal(calls.includes("systemctl enable --now fenestra-drain.service"), true);
  });
});
