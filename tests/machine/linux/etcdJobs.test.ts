import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { afterEach, before, describe, it } from "mocha";
import { createProgress } from "../../../rehearsal/host/progress.ts";
import { commandFolder } from "../../../rehearsal/host/rootScripts.ts";
import { obtainPrograms } from "../../../rehearsal/programs/obtain.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleControlPlane } from "./examples.ts";
import { bootedControlPlane as controlPlane, disposeMachine, machine, needsNamespaces, spec } from "./machine.ts";
import type { Sandbox } from "./sandbox.ts";

/** Makes a machine's etcd a real one. */
async function realEtcd(here: Sandbox): Promise<void> {
  const programs = await obtainPrograms({ progress: createProgress() });
  for (const name of ["etcd", "etcdctl"] as const) here.artifact(name, readFileSync(programs[name].path));
}

/** Begins a script of {@link realEtcd} machines. `soon` waits for what needs a moment. */
const withEtcd = `
set -eu
exec 2>&1
chmod +x /store/artifacts/etcd*
ln -sf /store/artifacts/etcdctl ${commandFolder}/etcdctl
rm ${commandFolder}/curl
ip link set lo up
mkdir -p /etc/kubernetes/pki/etcd
cd /etc/kubernetes/pki/etcd
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=etcd -days 2 -addext subjectAltName=IP:127.0.0.1 \
  -keyout healthcheck-client.key -out ca.crt
cp ca.crt healthcheck-client.crt
. /opt/fenestra/lib.sh
. /opt/fenestra/etcd.sh
start() {
  /store/artifacts/etcd --data-dir /var/lib/etcd --listen-client-urls https://127.0.0.1:2379 --advertise-client-urls https://127.0.0.1:2379 \
    --client-cert-auth --trusted-ca-file ca.crt --cert-file ca.crt --key-file healthcheck-client.key "$@" >/store/etcd.log 2>&1 &
}
soon() { poll 40 try "$@"; }
try() { "$@" || { /bin/sleep 0.2; false; }; }
`;

/** Fills an etcd until it refuses to write, and has the job give it room. */
const fullEtcd = `${withEtcd}
start --quota-backend-bytes 4194304
here() { etcd_at https://127.0.0.1:2379 "$@"; }
soon here get health
head -c 500000 /dev/zero | tr '\\0' x >/tmp/value
while here put key </tmp/value; do :; done
! here endpoint health
/opt/fenestra/etcd-defrag.sh
here put key </tmp/value
kill %1
`;

/** Starts one of three members. */
const loneEtcd = `${withEtcd}
start --name a --initial-cluster a=http://127.0.0.1:2380,b=http://127.0.0.2:2380,c=http://127.0.0.3:2380 \
  --initial-advertise-peer-urls http://127.0.0.1:2380 --listen-peer-urls http://127.0.0.1:2380 --listen-metrics-urls http://127.0.0.1:2381
soon member_up
! members_well
kill %1
! member_up
`;

const expired = `-----BEGIN CERTIFICATE-----
MIIBDDCBsgIBATAKBggqhkjOPQQDAjASMRAwDgYDVQQDDAdleHBpcmVkMB4XDTI0
MDEwMTAwMDAwMFoXDTI1MDEwMTAwMDAwMFowEjEQMA4GA1UEAwwHZXhwaXJlZDBZ
MBMGByqGSM49AgEGCCqGSM49AwEHA0IABAOHCAbn1+YPXWfBD3Xvq0BhcI4u6QAA
+XBryBu7JnY6UQJI6RZN4rgFTxxFOKiwWe9wvvD8+d+lTKm5pLMf190wCgYIKoZI
zj0EAwIDSQAwRgIhAJU7VwiB7k0ddA6OJMXJ8J0UyIi2GXBG0PL66JC2Z0ztAiEA
/QVaPS9syA2+E4fAgD83+RP8fIy4zogrCGxwZaQmXd8=
-----END CERTIFICATE-----
`;

describe("jobs around etcd", function () {
  this.timeout(60_000);
  before(needsNamespaces);
  afterEach(disposeMachine);

  describe("snapshots of etcd", () => {
    const snapshot = "/opt/fenestra/etcd-snapshot.sh";
    const database = "/var/lib/etcd-data/etcd/member/snap/db";
    const uploaded = (here: Sandbox): string => gunzipSync(here.readBytes("/store/uploaded")).toString();

    it("are sent with their digest from the system disk, and the cluster is told", () => {
      const here = controlPlane();
      here.write(database, "data");
      for (const left of ["snapshot.Ab12Cd/snapshot.db", "restore.Ab12Cd/db", "before-restore.17/db"])
        here.write(`/var/lib/etcd-data/${left}`, "left by a run that was cut off");
      const { code, output, calls } = here.run(snapshot);
      assert.equal(code, 0, output);
      const put = calls.find((call) => call.includes("--request PUT")) ?? "";
      const [, name = ""] =
        /x-amz-content-sha256: [0-9a-f]{64} .*https:\/\/aws-prod-etcd-123456789012\.s3\.eu-central-1\.amazonaws\.com\/(aws-prod\/cp-0\/[0-9T:Z-]+\.db\.gz)$/.exec(
          put,
        ) ?? [];
      assert.equal(uploaded(here), "snapshot\n");
      assert.equal(calls.filter((call) => /snapshot save \/var\/lib\/fenestra\/snapshot\//.test(call)).length, 1);
      const bytes = here.readBytes("/store/uploaded").length;
      const told = /^ {2}cp-0: '(\S+) (\S+) (\d+)'$/m.exec(here.read("/store/applied")) ?? [];
      assert.deepEqual(told.slice(2), [name, String(bytes)]);
      assert.ok(Date.now() - Date.parse(told[1] ?? "") < 60_000, told[1]);
      assert.match(
        here.read("/var/lib/fenestra/metrics/etcd-snapshot.prom"),
        new RegExp(`^fenestra_etcd_snapshot_timestamp_seconds \\d+\n.*\nfenestra_etcd_snapshot_bytes ${bytes}\n$`, "m"),
      );
      // Nothing is left on either disk, and the object store removes what is old.
      assert.deepEqual(here.list("/var/lib/etcd-data"), ["before-restore.17", "etcd"]);
      assert.equal(here.has("/var/lib/fenestra/snapshot"), false);
      assert.deepEqual(
        calls.filter((call) => call.includes("DELETE")),
        [],
      );
    });

    it("before etcd's first start are a copy of the data of the machine before", () => {
      const here = controlPlane();
      here.write(database, "data of the machine before");
      const { code, output, calls } = here.stage("backup");
      assert.equal(code, 0, output);
      assert.equal(uploaded(here), "data of the machine before");
      assert.match(calls.join("\n"), /\/aws-prod\/cp-0\/[0-9T-]+Z-before-start\.db\.gz$/m);
      assert.deepEqual(
        calls.filter((call) => /^(etcdctl|kubectl)/.test(call)),
        [],
      );
    });

    it("before etcd's first start are wanted, but never in the way", () => {
      const here = controlPlane();
      assert.deepEqual(here.stage("backup").calls, []);
      here.write(database, "data");
      here.write("/store/fail", "^curl.*PUT\n");
      const { code, output } = here.stage("backup");
      assert.equal(code, 0, output);
      assert.match(output, /warning: the data of the machine before was not backed up/);
    });

    it("are not begun where they would fill the disk", () => {
      const here = controlPlane();
      here.write(database, "data");
      here.write("/store/free", `${2 ** 30}\n`);
      const { code, output, calls } = here.run(snapshot);
      assert.equal(code, 1);
      assert.match(
        output,
        /there is no room for a snapshot: the database has 4 bytes, the system disk 1073741824 free ones/,
      );
      assert.deepEqual(
        calls.filter((call) => call.startsWith("etcdctl")),
        [],
      );
    });

    it("make the unit fail, and tell nobody of success, when they cannot be sent", () => {
      const here = controlPlane();
      here.write(database, "data");
      here.write("/store/fail", "^curl.*PUT\n");
      assert.equal(here.run(snapshot).code, 1);
      assert.deepEqual([here.has("/store/applied"), here.list("/var/lib/fenestra/metrics")], [false, []]);
    });
  });

  describe("defragmentation of etcd", () => {
    const defrag = "/opt/fenestra/etcd-defrag.sh";
    const status = (size: number, used: number): string =>
      JSON.stringify([{ Status: { version: "3.6.10", dbSize: size, leader: 1, dbSizeInUse: used } }]);
    const defragments = (size: number, used: number): number => {
      const here = controlPlane();
      here.write("/store/status", status(size, used));
      const { code, output, calls } = here.run(defrag);
      assert.equal(code, 0, output);
      return calls.filter((call) => call.endsWith(" defrag")).length;
    };

    it("is done where half of a large database is empty, and nowhere else", () => {
      assert.equal(defragments(1_000_000_000, 400_000_000), 1);
      assert.equal(defragments(1_000_000_000, 600_000_000), 0);
      assert.equal(defragments(100_000_000, 1_000_000), 0);
    });

    it("waits for the machine's turn and for all members to be well", () => {
      const here = controlPlane();
      here.write("/store/status", status(1_000_000_000, 1));
      const asked = Date.now() / 1000;
      const { calls } = here.run(defrag);
      const turn = Number(/^sleep (\d+)$/.exec(calls.find((call) => call.startsWith("sleep")) ?? "")?.[1]);
      // The first of three machines begins where the clock is a multiple of three turns.
      const off = (asked + turn) % 2700;
      assert.ok(off < 30 || off > 2698, `${asked} ${turn}`);
      const asks = calls.filter((call, at) => at > calls.indexOf(`sleep ${turn}`) && call.endsWith(" get health"));
      assert.deepEqual(
        asks.map((call) => /https:\S+/.exec(call)?.[0]),
        spec.controlPlane.members.map(({ address }) => `https://${address}:2379`),
      );
      here.write("/store/fail", "get health\n");
      const sick = here.run(defrag);
      assert.equal(sick.code, 1);
      assert.match(sick.output, /a member of etcd is not well/);
      assert.equal(sick.calls.filter((call) => call.endsWith(" defrag")).length, 0);
    });

    it("fails while etcd has raised an alarm", () => {
      const here = controlPlane();
      here.write("/store/status", status(1_000_000_000, 1));
      here.write("/store/alarms", "memberID:1 alarm:CORRUPT\n");
      const { code, output, calls } = here.run(defrag);
      assert.equal(code, 1);
      assert.match(output, /members of etcd hold different data: memberID:1 alarm:CORRUPT/);
      assert.equal(calls.filter((call) => /defrag|compaction|disarm/.test(call)).length, 0);
    });

    it("leaves a full etcd its alarm until the last member has room", () => {
      const here = controlPlane();
      const of = (size: number) => ({
        Status: { header: { revision: 7 }, dbSize: size, dbSizeInUse: 5, dbSizeQuota: 100 },
      });
      here.write("/store/status", JSON.stringify([of(10), of(95)]));
      here.write("/store/alarms", "memberID:1 alarm:NOSPACE\n");
      const { code, output, calls } = here.run(defrag);
      assert.equal(code, 1);
      assert.match(output, /etcd has raised an alarm and may refuse to write: memberID:1 alarm:NOSPACE/);
      assert.deepEqual(
        calls.flatMap((call) => /(compaction|defrag|disarm).*/.exec(call)?.[1] ?? []),
        ["compaction", "defrag"],
      );
    });

    it("gives a full etcd, a real one, room to write again", async function () {
      this.timeout(30 * 60_000);
      const here = controlPlane();
      await realEtcd(here);
      here.set({ MEMBER_ADDRESSES: "127.0.0.1" });
      const { code, output } = here.run("bash", "-c", fullEtcd);
      assert.equal(code, 0, output);
      assert.match(output, /unhealthy: .*NOSPACE.*etcd's database had \d+ bytes.*etcd was full; it has room again/s);
    });
  });

  describe("restoring a snapshot", () => {
    const restore = "/opt/fenestra/etcd-restore.sh";

    it("puts the newest snapshot of any running member in place of the data, which is kept", () => {
      const here = controlPlane();
      here.write("/var/lib/etcd-data/etcd/member/wal/0.wal", "old");
      here.write("/etc/kubernetes/manifests/etcd.yaml", "etcd");
      here.write("/etc/kubernetes/manifests/kube-apiserver.yaml", "api");
      here.write("/var/lib/fenestra/done/node", "hash");
      here.write(
        "/store/list",
        "<R><Key>aws-prod/cp-0/2026-01-02T.db.gz</Key><Key>aws-prod/cp-1/2026-01-03T.db.gz</Key>" +
          "<Key>aws-prod/cp-2/2026-01-04T-before-start.db.gz</Key></R>",
      );
      const { code, output, calls } = here.run(restore);
      assert.equal(code, 0, output);
      assert.equal(calls.filter((call) => call.includes("/aws-prod/cp-1/2026-01-03T.db.gz")).length, 1);
      const call = calls.find((made) => made.startsWith("etcdutl")) ?? "";
      assert.match(
        call,
        / --name cp-0 --initial-cluster cp-0=https:\/\/10\.20\.224\.10:2380,cp-1=\S+ --initial-advertise-peer-urls https:\/\/10\.20\.224\.10:2380 --initial-cluster-token aws-prod\/cp-1\/2026-01-03T\.db\.gz --bump-revision 1000000000 --mark-compacted$/,
      );
      assert.doesNotMatch(call, /skip-hash-check/);
      assert.equal(here.read("/var/lib/etcd-data/etcd/member/wal/0.wal"), "restored\n");
      assert.equal(here.list("/var/lib/etcd-data").filter((name) => name.startsWith("before-restore.")).length, 1);
      assert.deepEqual(here.list("/etc/kubernetes/manifests"), ["etcd.yaml", "kube-apiserver.yaml"]);
      // The data may be from before this machine registered.
      assert.equal(here.has("/var/lib/fenestra/done/node"), false);
      assert.deepEqual(
        calls.filter((made) => made.startsWith("systemctl")).map((made) => made.split(" ").slice(1).join(" ")),
        ["stop fenestra-bootstrap.service", "restart kubelet.service", "start --no-block fenestra-bootstrap.service"],
      );
    });

    const marker = "1a+b/c==";
    const pages = {
      aws: (names: string, next = "") =>
        `<R xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>${next !== ""}</IsTruncated>${names}${next && `<NextContinuationToken>${next}</NextContinuationToken>`}</R>`,
      azure: (names: string, next = "") =>
        `\ufeff<R><Blobs>${names}</Blobs>${next === "" ? "<NextMarker />" : `<NextMarker>${next}</NextMarker>`}</R>`,
    };
    for (const cloud of ["aws", "azure"] as const) {
      it(`finds the newest snapshot on any page of the object store of ${cloud}, and gives up where one is missing`, () => {
        const of = { ...exampleSpec(`${cloud}-prod`), artifacts: spec.artifacts };
        const here = machine(exampleControlPlane(of));
        here.write("/var/lib/fenestra/identity.env", "NODE_NAME=n\nPROVIDER_ID=p\nNODE_IP=10.20.224.10\n");
        here.write("/etc/kubernetes/manifests/etcd.yaml", "etcd");
        here.write("/var/lib/etcd-data/etcd/x", "");
        const names = ["cp-0/2026-01-02T", "cp-0/2026-01-04T", "cp-1/2026-01-03T"].map(
          (name) => `${of.name}/${name}.db.gz`,
        );
        const [first, ...others] = names.map((name) =>
          cloud === "aws" ? `<Key>${name}</Key>` : `<Blob><Name>${name}</Name></Blob>`,
        );
        // A page may be empty and yet not the last (Blob service REST API, "List Blobs").
        here.write("/store/list", pages[cloud](first ?? "", marker));
        here.write("/store/list1a+b_c==", pages[cloud]("", "2"));
        const broken = here.run(restore);
        assert.equal(broken.code, 1);
        assert.match(broken.output, new RegExp(`error: listing ${of.name}/ was answered with 400`));
        assert.deepEqual(here.list("/etc/kubernetes/manifests"), ["etcd.yaml"]);
        here.write("/store/list2", pages[cloud](others.join("")));
        assert.equal(here.run(restore, "--list").output, names.map((name) => `${name}\n`).join(""));
        const { code, output } = here.run(restore);
        assert.equal(code, 0, output);
        assert.match(output, new RegExp(`restored ${names[1]};`));
      });
    }

    it("works on a machine that waits with an empty volume, and lets its bootstrap go on", () => {
      const here = controlPlane();
      here.write("/var/lib/etcd-data/lost+found/x", "");
      here.write("/var/lib/etcd-data/etcd/x", "");
      assert.equal(here.run(restore, "--stop").code, 0);
      // A copy of the file itself has no hash behind its pages.
      here.write("/store/snapshot", "x".repeat(512));
      const { code, output, calls } = here.run(restore, "aws-prod/cp-1/2026-01-03T.db.gz");
      assert.equal(code, 0, output);
      assert.match(output, /restored aws-prod\/cp-1\/2026-01-03T\.db\.gz; this machine has waited for data/);
      assert.equal(here.read("/var/lib/etcd-data/etcd/member/wal/0.wal"), "restored\n");
      assert.match(calls.find((made) => made.startsWith("etcdutl")) ?? "", / --skip-hash-check /);
      assert.deepEqual(
        calls.filter((call) => call.startsWith("systemctl")),
        ["systemctl stop fenestra-bootstrap.service", "systemctl start --no-block fenestra-bootstrap.service"],
      );
      assert.deepEqual(here.list("/var/lib/etcd-data"), ["etcd", "lost+found"]);
      assert.equal(here.stage("membership").code, 0);
      assert.match(here.read("/var/lib/fenestra/membership.env"), /^ETCD_STATE=existing$/m);
    });

    it("keeps the old data, and says what to remove, where the volume has no room", () => {
      const here = controlPlane();
      here.write("/var/lib/etcd-data/etcd/member/wal/0.wal", "old");
      here.write("/store/free", "1000\n");
      const { code, output } = here.run(restore, "aws-prod/cp-1/2026-01-03T.db.gz");
      assert.equal(code, 1);
      assert.match(output, /has 1000 free bytes for 9; remove before-restore\.\*/);
      assert.equal(here.read("/var/lib/etcd-data/etcd/member/wal/0.wal"), "old");
    });

    it("changes nothing while there is no snapshot", () => {
      const here = controlPlane();
      here.write("/etc/kubernetes/manifests/etcd.yaml", "etcd");
      here.write("/store/list", "<R><Key>aws-prod/cp-0/2026-01-04T-before-start.db.gz</Key></R>");
      const { code, output } = here.run(restore);
      assert.equal(code, 1);
      assert.match(output, /there is no snapshot in aws-prod-etcd-123456789012; a copy from before a start/);
      assert.deepEqual(here.list("/etc/kubernetes/manifests"), ["etcd.yaml"]);
    });
  });

  describe("renewal of certificates", () => {
    const renew = "/opt/fenestra/renew-certificates.sh";
    // The certificates of the tests are valid for two days.
    const ready = (): Sandbox => {
      const here = controlPlane();
      const certificate = here.read("/etc/kubernetes/pki/ca.crt");
      for (const name of ["etcd/ca", "etcd/server", "front-proxy-ca", "apiserver"])
        here.write(`/etc/kubernetes/pki/${name}.crt`, certificate);
      for (const name of ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"])
        here.write(`/etc/kubernetes/manifests/${name}.yaml`, name);
      here.set({ CA_WARNING_DAYS: 1, URGENT_DAYS: 1 });
      return here;
    };
    /** Its waits for a turn, kubeadm and restarts, while no member has a quorum. */
    const alone = (here: Sandbox): readonly string[] => {
      here.write("/store/fail", "get health\n");
      const { code, output, calls } = here.run(renew);
      assert.equal(code, 0, output);
      assert.equal(here.list("/etc/kubernetes/manifests").length, 4);
      assert.equal(here.has("/var/lib/fenestra/renewing"), false);
      const restarts = ["certs", "25", ":2381/livez", "25", "25", "25"];
      const shown = calls.flatMap((call) => /(certs|:2381\/livez|(?<=^sleep )\d{2,})/.exec(call)?.[0] ?? []);
      assert.deepEqual(shown.slice(-restarts.length), restarts);
      return calls.slice(
        0,
        calls.findIndex((call) => call.startsWith("kubeadm")),
      );
    };

    it("happens in time, and restarts each component", () => {
      const here = ready();
      const { code, output, calls } = here.run(renew);
      assert.equal(code, 0, output);
      assert.deepEqual(
        calls.filter((call) => call.startsWith("kubeadm")),
        ["kubeadm certs renew all --config /etc/kubernetes/kubeadm.yaml"],
      );
      assert.equal(calls.filter((call) => call === "sleep 25").length, 4);
      const all = ["health", "health", "health"];
      // All members are well before the first is taken away, and again before the API server is.
      const order = calls.filter((call) => /^(kubeadm|sleep|etcdctl.*get health)/.test(call));
      assert.deepEqual(
        order.slice(1).map((call) => /health|kubeadm|sleep/.exec(call)?.[0]),
        [...all, "kubeadm", "sleep", ...all, "sleep", "sleep", "sleep"],
      );
      assert.equal(here.list("/etc/kubernetes/manifests").length, 4);
    });

    it("touches nothing while a member of etcd is not well", () => {
      const here = ready();
      here.write("/store/fail", "get health\n");
      const { code, output, calls } = here.run(renew);
      assert.equal(code, 1, output);
      assert.match(output, /a member of etcd is not well/);
      assert.deepEqual(
        calls.filter((call) => call.startsWith("kubeadm")),
        [],
      );
      assert.equal(here.list("/etc/kubernetes/manifests").length, 4);
    });

    it("waits for no other member when the certificates end soon, but for its turn", () => {
      const here = ready();
      here.set({ URGENT_DAYS: 14 });
      const asked = alone(here);
      assert.match(asked[0] ?? "", /^sleep \d+$/);
      assert.match(asked[1] ?? "", / get health$/);
    });

    it("waits for nobody where a certificate has expired", () => {
      const here = ready();
      here.write("/etc/kubernetes/pki/etcd/server.crt", expired);
      assert.deepEqual(alone(here), []);
    });

    it("takes a member, a real one, for started although the others are away", async function () {
      this.timeout(30 * 60_000);
      const here = controlPlane();
      await realEtcd(here);
      here.set({ MEMBER_ADDRESSES: "127.0.0.1" });
      const { code, output } = here.run("bash", "-c", loneEtcd);
      assert.equal(code, 0, output);
    });

    it("waits for no turn, nor for health, where there is one member", () => {
      const here = ready();
      here.set({ MEMBER_ADDRESSES: "10.20.224.10" });
      assert.match(alone(here)[0] ?? "", / get health$/);
    });

    it("does nothing before its time", () => {
      const here = ready();
      here.set({ RENEW_DAYS: 1 });
      const { code, calls } = here.run(renew);
      assert.equal(code, 0);
      assert.deepEqual(calls, []);
    });

    it("puts back what a run that was cut off has left aside", () => {
      const here = ready();
      // Longer than the wait for a turn, which is as long as the clock says.
      here.set({ RESTART_PAUSE: 99999 });
      here.write("/store/cut", "^sleep 99999\n");
      assert.equal(here.run(renew).code, 137);
      assert.equal(here.list("/etc/kubernetes/manifests").length, 3);
      here.set({ RENEW_DAYS: 1 });
      assert.equal(here.run(renew).code, 0);
      assert.equal(here.list("/etc/kubernetes/manifests").length, 4);
    });

    it("fails, and says so, when an authority runs out soon", () => {
      const here = ready();
      here.set({ RENEW_DAYS: 1, CA_WARNING_DAYS: 90 });
      const { code, output } = here.run(renew);
      assert.equal(code, 1);
      assert.match(output, /warning: the authority in \/etc\/kubernetes\/pki\/ca\.crt runs out on /);
    });
  });
});
