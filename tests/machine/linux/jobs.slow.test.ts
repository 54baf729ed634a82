import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
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

function worker(): Sandbox {
  const here = machine(exampleLinuxWorker(spec));
  here.write("/var/lib/fenestra/identity.env", identity);
  here.write("/etc/kubernetes/kubelet.conf", "");
  return here;
}

/** Between two looks of a drain: two rounds, each of so many seconds of real time; then its pods are gone. */
const twoRounds = (seconds: number): string =>
  `[ -e pods ] || exit 0; /bin/sleep ${seconds}; echo >>rounds; [ "$(wc -l <rounds)" -lt 2 ] || rm pods`;

const one = "shop\tweb-1\tRunning\tReplicaSet\t\n";
const budget = "Error from server (TooManyRequests): Cannot evict pod as it would violate the pod's disruption budget.";

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

  describe("a drain", () => {
    /** Drains a machine that is to end: with these settings, files of the fakes, and what happens between two looks. */
    const drained = (
      set: Readonly<Record<string, number>>,
      store: Readonly<Record<string, string>>,
      between: string,
      here = worker(),
    ) => {
      here.set(set);
      for (const [name, content] of Object.entries({ notice: "Terminated", ...store }))
        here.write(`/store/${name}`, content);
      here.set({ LEAVE_SECONDS: 987, BALANCER_SECONDS: 0 });
      here.write("/store/cut", "^sleep 987");
      here.writeScript("/store/on-sleep", `#!/bin/bash\ncd "\${0%/*}"; ${between}\n`);
      return { here, ...here.run("/opt/fenestra/drain.sh") };
    };
    const unreachable = "Unable to connect";
    const cases: readonly {
      readonly title: string;
      readonly seconds: number;
      readonly store: Readonly<Record<string, string>>;
      readonly says: RegExp;
      readonly evicts: number;
      readonly deletes?: readonly string[];
    }[] = [
      {
        title: "what can move moves, and what is left in the end is deleted in one call",
        seconds: 2,
        store: {
          pods: `${one}prod\tweb-2\tRunning\tReplicaSet\t\nkube-system\tproxy\tRunning\tDaemonSet\t\nkube-system\tetcd\tRunning\tNode\thash\nshop\tjob-1\tSucceeded\tJob\t\n`,
          refuse: budget,
        },
        says: /web-1 cannot move yet: Error from server[\s\S]*what is left is deleted/,
        evicts: 2,
        deletes: ["shop/web-1", "prod/web-2"],
      },
      {
        title: "a machine whose Node is marked goes at once",
        seconds: 600,
        store: { pods: one, refuse: budget, mark: "skip" },
        says: /drain: skip[\s\S]*what is left is deleted/,
        evicts: 1,
        deletes: ["shop/web-1"],
      },
      {
        title: "an API that hangs costs its time, and the cloud is told",
        seconds: 8,
        store: { pods: one, hang: "^kubectl" },
        says: /nobody has said/,
        evicts: 0,
      },
      {
        title: "a list without a pod of the node's own is none",
        seconds: 2,
        store: { idle: "get pods" },
        says: /nobody has said/,
        evicts: 0,
      },
      {
        title: "a Node that is gone keeps no pod from moving",
        seconds: 2,
        store: { pods: one, fail: "patch node" },
        says: /is not cordoned/,
        evicts: 1,
      },
      {
        title: "an API that breaks off ends a round",
        seconds: 2,
        store: { pods: `${one}${one}`, refuse: unreachable },
        says: /cannot move yet/,
        evicts: 1,
      },
    ];
    for (const { title, seconds, store, says, evicts, deletes } of cases)
      it(title, () => {
        const began = Date.now();
        const { here, output, matching } = drained({ DRAIN_SECONDS: seconds }, store, "/bin/sleep 1");
        assert.match(output, says);
        assert.ok(Date.now() - began < (seconds + 17) * 1000, `${Date.now() - began} ms`);
        const evicted = matching(/\/eviction/);
        assert.ok(evicted.length >= evicts && (evicts > 0 || evicted.length === 0), output);
        // Whoever is not answered asks nothing more in this round.
        if (store.refuse === unreachable) assert.ok(evicted.length <= matching(/get pods/).length, output);
        if (deletes !== undefined) {
          const lines = here.read("/store/deleted").trim().split("\n");
          const deleted = lines.map((line): { metadata: Record<string, string> } => JSON.parse(line));
          assert.deepEqual(
            deleted.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`),
            deletes,
          );
        }
        const completed = /CompleteLifecycleAction.*LifecycleHookName=terminate.*InstanceId=i-0123456789abcdef0/;
        assert.equal(matching(completed).length, 1);
      });

    it("waits until no disk is in use, since a disk of a machine that is gone is taken from it after minutes only", () => {
      const looks = (disks: string, twice: boolean): readonly [number, string] => {
        const gone = twice ? 'echo >>seen; [ "$(wc -l <seen)" -lt 2 ] || : >disks' : "/bin/sleep 1";
        const { output, calls, matching } = drained({ DRAIN_SECONDS: 6 }, { disks }, gone);
        assert.ok(
          calls.findLastIndex((call) => /volumesInUse/.test(call)) <
            calls.findIndex((call) => /CompleteLifecycleAction/.test(call)),
        );
        return [matching(/get node .* --ignore-not-found .*volumesInUse/).length, output];
      };
      assert.equal(looks("", true)[0], 1);
      assert.equal(looks("kubernetes.io/csi/ebs.csi.aws.com^vol-1", true)[0], 3);
      assert.match(looks("kubernetes.io/csi/ebs.csi.aws.com^vol-1", false)[1], /disks are in use.*vol-1/);
    });

    for (const torn of ["", "NODE_NA", "garbage $(touch /store/executed)\n", "\0\0\0\0"])
      it(`asks the cloud where the file of its identity has ${JSON.stringify(torn)}`, () => {
        const here = worker();
        here.write("/var/lib/fenestra/identity.env", torn);
        const { calls } = drained({ DRAIN_SECONDS: 2 }, {}, "exit 0", here);
        assert.ok(calls.some((call) => /CompleteLifecycleAction.*InstanceId=i-0123456789abcdef0/.test(call)));
        assert.equal(here.has("/store/executed"), false);
      });

    it("tells the group in intervals that it goes on, and only while it does", () => {
      const beats = (heartbeat: number): readonly string[] => {
        // The script's clock is the real one and counts whole seconds.
        const { calls } = drained(
          { DRAIN_SECONDS: 60, DRAIN_HEARTBEAT: heartbeat },
          { pods: one },
          twoRounds(1.1 * heartbeat),
        );
        return calls.flatMap(
          (call) => /Action=(\w+)&Version=2011-01-01.*LifecycleHookName=terminate/.exec(call)?.[1] ?? [],
        );
      };
      const heartbeat = "RecordLifecycleActionHeartbeat";
      const often = beats(1);
      assert.ok(often.length >= 4, `${often}`);
      assert.deepEqual([new Set(often.slice(0, -1)), often.at(-1)], [new Set([heartbeat]), "CompleteLifecycleAction"]);
      assert.deepEqual(beats(0), ["CompleteLifecycleAction"]);
    });

    it("goes on when the group does not answer", () => {
      const store = { pods: one, fail: "RecordLifecycleActionHeartbeat\n" };
      const { output, calls } = drained({ DRAIN_SECONDS: 60, DRAIN_HEARTBEAT: 1 }, store, twoRounds(0));
      assert.match(output, /the group was not told that the drain goes on/);
      assert.ok(calls.some((call) => call.includes("CompleteLifecycleAction")));
    });
  });

  describe("maintenance of EC2", () => {
    const event = (seconds: number, State = "active") =>
      JSON.stringify([
        { NotBefore: new Date(Date.now() + 1000 * seconds).toUTCString().slice(5), Code: "system-reboot", State },
      ]);
    const cordoned = '{"metadata":{"annotations":{"fenestra.dev/cordoned":"notice"}},"spec":{"unschedulable":true}}';
    const free = '{"metadata":{"annotations":{"fenestra.dev/cordoned":null}},"spec":{"unschedulable":null}}';
    // What the list says at one look after the other; an empty text is no answer.
    const cases: readonly (readonly [
      string,
      readonly string[],
      { readonly node?: string; readonly pods?: boolean; readonly spot?: string },
      readonly string[],
      RegExp,
    ])[] = [
      [
        "soon: the pods move, and may come when it is over",
        [event(60), event(30), event(-5), "[]"],
        {},
        [cordoned, free],
        /machine is back/,
      ],
      ...[
        "{}",
        '{"code":"busy"}',
        '{"action":"dance","time":"2026-01-01T00:00:00Z"}',
        '{"action":"stop","time":"soon"}',
      ].map((spot) => [`an interruption ${spot} is none`, ["[]"], { spot }, [], /cannot be read/] as const),
      ["in some days: nothing happens yet", [event(86_400), "[]"], {}, [], /^(?!.*pods)/s],
      ...["{}", '{"code":"busy"}', "null", '""', "<html>busy</html>"].map(
        (odd) =>
          [`${odd} is no notice, nor the end of one`, [event(60), odd], {}, [cordoned], /cannot be read/] as const,
      ),
      ["over: nothing happens", [event(60, "completed"), event(60, "canceled")], {}, [], /^(?!.*pods)/s],
      ["no answer takes nothing back", [event(60), "", "<html>busy</html>"], {}, [cordoned], /cannot be read/],
      [
        "a node that somebody else has cordoned stays so",
        [event(60), "[]"],
        { node: '{"spec":{"unschedulable":true}}' },
        [],
        /have moved/,
      ],
      ["behind the restart that it was about pods may come", ["[]"], { node: cordoned }, [free], /machine is back/],
      ["a pod that cannot move stays", [event(2), event(0), "[]"], { pods: true }, [cordoned, free], /is left stays/],
    ];
    for (const [title, looks, { node, pods = false, spot }, patches, says] of cases)
      it(title, () => {
        const here = worker();
        here.set({ DRAIN_SECONDS: 200, NOTICE_PAUSE: 77 });
        looks.forEach((look, index) => void here.write(`/store/look${index}`, look));
        here.write("/store/maintenance", looks[0] ?? "");
        if (looks[0] === "") here.write("/store/fail", "maintenance");
        if (node !== undefined) here.write("/store/node", node);
        if (spot !== undefined) here.write("/store/spot", spot);
        if (pods) {
          here.write("/store/pods", one);
          here.write("/store/refuse", budget);
        }
        // Between two looks: the next answer, and behind the last one the end.
        here.writeScript(
          "/store/on-sleep",
          `#!/bin/bash
cd "\${0%/*}"; /bin/sleep 1
[ "$(tail -n 1 calls)" = "sleep 77" ] || exit 0
echo >>seen; next=look$(wc -l <seen); rm -f fail
[ -e "$next" ] || { echo . >cut; exit 0; }
cp "$next" maintenance; [ -s "$next" ] || echo maintenance >fail
`,
        );
        const { output, calls, matching } = here.run("/opt/fenestra/drain.sh");
        assert.match(output, says);
        const patched = calls.flatMap((call) => /--patch (.*)/.exec(call)?.[1] ?? []);
        assert.deepEqual(patched, patches, output);
        assert.equal(matching(/CompleteLifecycleAction| delete /).length, 0, output);
      });
  });
});
