// Sees what nothing faster does: which data a restore puts in place, and what it stops meanwhile.
import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { commandFolder } from "../../../rehearsal/host/rootScripts.ts";
import { diskFolder } from "../../../rehearsal/machines/fakeCommands.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleControlPlane } from "../examples.ts";
import {
  bootedControlPlane as controlPlane,
  describeOnMachine,
  machine,
  realEtcd,
  type Sandbox,
  spec,
  withEtcd,
} from "./machine.ts";

/** A real etcd's snapshot is sent; none that has only so many bytes of it is. */
const cutSnapshots = `cp ${commandFolder}/curl /store/curl
${withEtcd}
cp /store/curl ${commandFolder}/curl
start
soon etcd_at https://127.0.0.1:2379 get health
/opt/fenestra/etcd-snapshot.sh
mv /store/uploaded /store/whole
rm ${commandFolder}/etcdctl
for bytes in 0 7 512 12000; do
  printf '#!/bin/bash\\n/store/artifacts/etcdctl "$@" && truncate --size %s "\${*: -1}"\\n' $bytes >${commandFolder}/etcdctl
  chmod +x ${commandFolder}/etcdctl
  if /opt/fenestra/etcd-snapshot.sh; then exit 9; fi
done
kill %1
`;

describeOnMachine("snapshots of etcd", () => {
  const snapshot = "/opt/fenestra/etcd-snapshot.sh";
  const database = "/var/lib/etcd-data/etcd/member/snap/db";
  const uploaded = (here: Sandbox) => gunzipSync(here.readBytes("/store/uploaded")).toString();

  it("are sent with their digest, and the cluster is told", () => {
    const here = controlPlane();
    here.write(database, "data");
    for (const left of ["snapshot.Ab12Cd/snapshot.db", "restore.Ab12Cd/db", "before-restore.17/db"])
      here.write(`/var/lib/etcd-data/${left}`, "left by a run that was cut off");
    const { matching } = here.runOrFail(snapshot);
    const put = matching(/--request PUT/)[0] ?? "";
    const [, name = ""] =
      /x-amz-content-sha256: [0-9a-f]{64} .*https:\/\/aws-prod-etcd-123456789012\.s3\.eu-central-1\.amazonaws\.com\/(aws-prod\/cp-0\/[0-9T:Z-]+\.db\.gz)$/.exec(
        put,
      ) ?? [];
    assert.match(uploaded(here), /^snapshot\n/);
    assert.equal(matching(/snapshot save \/var\/lib\/fenestra\/snapshot\//).length, 1);
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
    assert.deepEqual(matching(/DELETE/), []);
  });

  for (const [file, content, says] of [
    ["fail", "get health", /this member has no quorum, so its data may be old; nothing is sent/],
    ["free", `${2 ** 30}`, /no room for a snapshot: the database has 4 bytes, the system disk 1073741824 free/],
  ] as const)
    it(`are not sent: ${says.source}`, () => {
      const here = controlPlane();
      here.write(database, "data");
      here.store(file, content);
      assert.deepEqual(here.fails(1, says, snapshot).matching(/snapshot save|PUT/), []);
    });

  it("of a real etcd are whole, or are not sent", async function () {
    const here = controlPlane();
    await realEtcd(this, here);
    here.set({ ETCD_DATA: "/var/lib/etcd" });
    const { output } = here.runOrFail("bash", "-c", cutSnapshots);
    assert.equal(output.match(/no whole snapshot of its \d+ bytes; nothing is sent/g)?.length, 4, output);
    assert.deepEqual([here.has("/store/whole"), here.has("/store/uploaded")], [true, false]);
  });

  it("before etcd's first start are a copy of earlier data", () => {
    const here = controlPlane();
    here.write(database, "data of the machine before");
    const { calls, matching } = here.stageOrFail("backup");
    assert.equal(uploaded(here), "data of the machine before");
    assert.match(calls.join("\n"), /\/aws-prod\/cp-0\/[0-9T-]+Z-before-start\.db\.gz$/m);
    assert.deepEqual(matching(/^(etcdctl|kubectl)/), []);
  });

  it("before etcd's first start are never in the way", () => {
    const here = controlPlane();
    assert.deepEqual(here.stage("backup").calls, []);
    here.write(database, "data");
    here.breaks("fail", "^curl.*PUT");
    assert.match(here.stageOrFail("backup").output, /warning: the data of the machine before was not backed up/);
  });
});

describeOnMachine("restoring a snapshot", () => {
  const restore = "/opt/fenestra/etcd-restore.sh";
  /** The data volume, as a file of the machine. */
  const volume = `${diskFolder}/content`;
  const log = `${volume}/etcd/member/wal/0.wal`;
  /** A machine whose control plane runs. */
  const running = () => {
    const here = controlPlane();
    here.write(`${diskFolder}/formatted`, "");
    here.write(log, "old");
    for (const name of ["etcd", "kube-apiserver"]) here.write(`/etc/kubernetes/manifests/${name}.yaml`, name);
    here.write("/var/lib/fenestra/kubelet-started", "");
    return here;
  };

  it("puts any member's newest snapshot in place of the data, which is kept", () => {
    const here = running();
    here.write("/var/lib/fenestra/done/node", "hash");
    here.write(
      "/store/list",
      "<R><Key>aws-prod/cp-0/2026-01-02T.db.gz</Key><Key>aws-prod/cp-1/2026-01-03T.db.gz</Key>" +
        "<Key>aws-prod/cp-2/2026-01-04T-before-start.db.gz</Key></R>",
    );
    const { calls, matching } = here.runOrFail(restore, "--newest");
    assert.equal(matching(/\/aws-prod\/cp-1\/2026-01-03T\.db\.gz/).length, 1);
    const call = matching(/^etcdutl snapshot restore/)[0] ?? "";
    assert.match(
      call,
      / --name cp-0 --initial-cluster cp-0=https:\/\/10\.20\.224\.10:2380,cp-1=\S+ --initial-advertise-peer-urls https:\/\/10\.20\.224\.10:2380 --initial-cluster-token aws-prod\/cp-1\/2026-01-03T\.db\.gz --bump-revision 1000000000 --mark-compacted$/,
    );
    assert.doesNotMatch(call, /skip-hash-check/);
    assert.equal(here.read(log), "restored\n");
    assert.equal(here.list(volume).filter((name) => name.startsWith("before-restore.")).length, 1);
    assert.deepEqual(here.list("/etc/kubernetes/manifests"), ["etcd.yaml", "kube-apiserver.yaml"]);
    // The data may be from before this machine registered.
    assert.equal(here.has("/var/lib/fenestra/done/node"), false);
    assert.deepEqual(
      calls.filter((made) => made.startsWith("systemctl")).map((made) => made.split(" ").slice(1).join(" ")),
      [
        "stop fenestra-bootstrap.service",
        // It waits until this has ended, in whatever way.
        "start --no-block fenestra-bootstrap.service",
        "stop kubelet.service",
        "restart kubelet.service",
        "start kubelet.service",
      ],
    );
    // The clients of etcd are cut off at once; an API server would wait for them, and for etcd.
    const stopped = calls.flatMap(
      (made) =>
        /^crictl (?:ps.*|stop --timeout \d+ [0-9a-f]+$)/.exec(made)?.[0].replace(/.*\^|[0-9a-f]{64}/g, "") ?? [],
    );
    assert.deepEqual(stopped, [
      "(kube-apiserver|kube-controller-manager|kube-scheduler)$",
      ...Array(3).fill("crictl stop --timeout 5 "),
      "(etcd)$",
      "crictl stop --timeout 30 ",
    ]);
  });

  it("begins behind nothing that clients have seen of a restore before", () => {
    const here = running();
    const all = here.list("/etc/kubernetes/manifests");
    const name = "aws-prod/cp-1/2026-01-03T.db.gz";
    for (const [seen, number] of [
      [1_000_000_008, 2],
      [4_000_000_007, 4],
      [4_000_000_008, 5],
    ] as const) {
      here.write(`${volume}/etcd/member/snap/db`, `snapshot ${seen}\n`);
      const says = new RegExp(
        ` after ${name}: run --stop on every machine again, and then "${name} ${number}" on every`,
      );
      here.fails(1, says, restore, name);
      assert.deepEqual([here.read(log), here.list("/etc/kubernetes/manifests")], ["old", all]);
    }
    for (const [seen, words] of [
      [1_000_000_007, name],
      [4_000_000_008, `${name} 5`],
    ] as const) {
      here.write(log, "old");
      here.write(`${volume}/etcd/member/snap/db`, `snapshot ${seen}\n`);
      const call = here.runOrFail(restore, ...words.split(" ")).matching(/^etcdutl snapshot restore/)[0] ?? "";
      const bump = `${/ (\d)$/.exec(words)?.[1] ?? 1}000000000`;
      assert.match(call, new RegExp(` --initial-cluster-token ${words} --bump-revision ${bump} --mark-compacted$`));
      assert.equal(here.read(log), "restored\n");
    }
  });

  it("changes nothing without words, nor beside an API server", () => {
    const here = running();
    here.write("/store/live", "");
    here.write("/store/list", "<R><Key>aws-prod/cp-1/2026-01-03T.db.gz</Key></R>");
    for (const [words, code, says] of [
      [[], 2, /^usage: [\s\S]*The newest snapshot: aws-prod\/cp-1\/2026-01-03T\.db\.gz\n$/],
      [["--newest"], 1, /answers: run --stop on every .* first, then restore aws-prod\/cp-1\/2026-01-03T\.db\.gz\n$/],
      [["aws-prod/cp-1/2026-01-03T.db.gz"], 1, /answers: run --stop/],
      [["--newest", "--dry-run"], 2, /^usage: /],
    ] as const) {
      assert.deepEqual(
        [here.fails(code, says, restore, ...words).matching(/^(systemctl|crictl|etcdutl)/), here.read(log)],
        [[], "old"],
        words.join(" "),
      );
    }
    here.write("/store/list", "<R><Key>aws-prod/cp-0/2026-01-04T-before-start.db.gz</Key></R>");
    assert.deepEqual(
      here
        .fails(1, /no snapshot in aws-prod-etcd-\d+; a copy from before a start/, restore, "--newest")
        .calls.filter((call) => /^(systemctl|crictl)/.test(call)),
      [],
    );
  });

  it("takes no name with a time to come for the newest", () => {
    const here = running();
    here.write(
      "/store/list",
      "<R><Key>aws-prod/cp-1/2026-01-03T.db.gz</Key><Key>aws-prod/cp-0/2999-01-01T.db.gz</Key></R>",
    );
    for (const [words, code] of [
      [["--newest"], 1],
      [[], 2],
    ] as const)
      assert.deepEqual(
        here
          .fails(code, /aws-prod\/cp-0\/2999-01-01T\.db\.gz has a time to come/, restore, ...words)
          .matching(/^(systemctl|crictl)/),
        [],
        words.join(),
      );
    assert.equal(here.read(log), "old");
    here.runOrFail(restore, "aws-prod/cp-1/2026-01-03T.db.gz");
  });

  it("says which snapshot it waits for, and not for ever", () => {
    const here = running();
    const bound =
      'if [[ $1 == --timeout && $3 == 9 ]]; then echo "bound $2" >&2; shift 2; set -- --timeout 1 "$@"; fi; /usr/bin/flock "$@"';
    here.writeScript(`${commandFolder}/flock`, `#!/bin/bash\n${bound}\n`);
    const held = (seconds: number) => [
      ...["bash", "-c"],
      `mkdir -p /run/fenestra; exec 7>/run/fenestra/snapshots.lock; /usr/bin/flock 7; /usr/bin/sleep ${seconds} & exec 7>&-; exec ${restore} aws-prod/cp-1/2026-01-03T.db.gz`,
    ];
    const { output, matching } = here.fails(1, /it is still being sent: .*systemctl stop/, ...held(4));
    assert.match(output, /a snapshot is being sent: waiting .*\nbound 300\n/);
    assert.deepEqual([matching(/^(systemctl|crictl)/), here.read(log)], [[], "old"]);
    assert.match(here.runOrFail(...held(0.5)).output, /a snapshot is being sent/);
    assert.equal(here.read(log), "restored\n");
  });

  it("refuses a newer etcd's snapshot, and takes an older one's", () => {
    const here = running();
    here.write("/store/list", "<R><Key>aws-prod/cp-1/2026-01-03T.db.gz</Key></R>");
    here.write("/store/storage", "3.10.0");
    const says = /2026-01-03T\.db\.gz is of etcd 3\.10, and this machine has 3\.6, which cannot read it: set /;
    const { matching } = here.fails(1, says, restore, "--newest");
    assert.deepEqual([here.read(log), matching(/^crictl/)], ["old", []]);
    here.write("/store/storage", "3.5.0");
    here.runOrFail(restore, "--newest");
    assert.equal(here.read(log), "restored\n");
  });

  it("lets --start take back --stop, and knows its words", () => {
    const here = running();
    const all = here.list("/etc/kubernetes/manifests");
    for (const word of ["--stpo", "2026-01-03T"])
      assert.deepEqual([here.run(restore, word).code, here.list("/etc/kubernetes/manifests")], [2, all], word);
    here.breaks("fail", "cp-7");
    const { code, output, matching } = here.run(restore, "aws-prod/cp-7/2026-01-03T.db.gz");
    assert.notEqual(code, 0, output);
    assert.deepEqual([here.list("/etc/kubernetes/manifests"), matching(/stop kubelet/)], [all, []]);
    here.runOrFail(restore, "--stop");
    assert.deepEqual([here.list("/etc/kubernetes/manifests"), here.list("/etc/kubernetes/stopped")], [[], all]);
    here.runOrFail(restore, "--start");
    assert.deepEqual(here.list("/etc/kubernetes/manifests"), all);
  });

  // What somebody has stopped stays stopped where a restore fails, and all else runs again with its old data.
  for (const [title, fault, data] of [
    ["leaves stopped what was stopped before where it fails", ["nothing", ""], "old"],
    [
      "goes on in the next bootstrap where it is killed before the kubelet has the new data",
      ["cut", "restart kubelet"],
      "restored\n",
    ],
  ] as const)
    it(title, () => {
      const here = running();
      const all = here.list("/etc/kubernetes/manifests");
      here.runOrFail(restore, "--stop");
      here.store(fault[0], fault[1]);
      const { code, output } = here.run(restore, "aws-prod/cp-1/2026-01-03T.db.gz");
      assert.notEqual(code, 0, output);
      const again = here.stageOrFail("volume");
      assert.deepEqual(here.list("/etc/kubernetes/manifests"), data === "old" ? [] : all);
      assert.equal(here.read(log), data);
      assert.equal(here.has("/var/lib/fenestra/restore"), false);
      // A member that has begun is not exchanged once more.
      assert.equal(
        here.list(volume).filter((name) => name.startsWith("before-restore.")).length,
        data === "old" ? 0 : 1,
      );
      assert.deepEqual(again.matching(/^systemctl start kubelet\.service$/), [
        "systemctl start kubelet.service",
        ...(data === "old" ? [] : ["systemctl start kubelet.service"]),
      ]);
    });

  const pages = {
    aws: (names: string, next = "") =>
      `<R xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>${next !== ""}</IsTruncated>${names}${next && `<NextContinuationToken>${next}</NextContinuationToken>`}</R>`,
    azure: (names: string, next = "") =>
      `\ufeff<R><Blobs>${names}</Blobs>${next === "" ? "<NextMarker />" : `<NextMarker>${next}</NextMarker>`}</R>`,
  };
  for (const cloud of ["aws", "azure"] as const)
    it(`finds the newest snapshot on any page on ${cloud}, and misses none`, () => {
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
      here.write("/store/list", pages[cloud](first ?? "", "1a+b/c=="));
      here.write("/store/list1a+b_c==", pages[cloud]("", "2"));
      here.fails(1, new RegExp(`error: listing ${of.name}/ was answered with 400`), restore, "--newest");
      assert.deepEqual(here.list("/etc/kubernetes/manifests"), ["etcd.yaml"]);
      here.write("/store/list2", pages[cloud](others.join("")));
      assert.equal(here.run(restore, "--list").output, names.map((name) => `${name}\n`).join(""));
      assert.match(here.runOrFail(restore, "--newest").output, new RegExp(`restored ${names[1]};`));
    });

  it("works on a machine with an empty volume, and lets its bootstrap go on", () => {
    const here = controlPlane();
    here.write("/var/lib/etcd-data/lost+found/x", "");
    here.write("/var/lib/etcd-data/etcd/x", "");
    here.runOrFail(restore, "--stop");
    // A copy of the file itself has no hash behind its pages.
    here.write("/store/snapshot", "x".repeat(512));
    const { output, matching } = here.runOrFail(restore, "aws-prod/cp-1/2026-01-03T.db.gz");
    assert.match(output, /restored aws-prod\/cp-1\/2026-01-03T\.db\.gz; this machine has waited for data/);
    assert.match(output, /where no machine has data, and aws-prod\S+gz was restored before, restore "aws-prod\S+gz 2"/);
    assert.equal(here.read("/var/lib/etcd-data/etcd/member/wal/0.wal"), "restored\n");
    assert.match(matching(/^etcdutl snapshot restore/)[0] ?? "", / --skip-hash-check /);
    assert.deepEqual(matching(/^systemctl/), [
      "systemctl stop fenestra-bootstrap.service",
      "systemctl start --no-block fenestra-bootstrap.service",
    ]);
    assert.deepEqual(here.list("/var/lib/etcd-data"), ["etcd", "lost+found"]);
    here.stageOrFail("membership");
    assert.match(here.read("/var/lib/fenestra/membership.env"), /^ETCD_STATE=existing$/m);
  });

  it("keeps the old data where there is no room", () => {
    const here = controlPlane();
    here.write("/var/lib/etcd-data/etcd/member/wal/0.wal", "old");
    here.write("/store/free", "1000\n");
    here.fails(1, /has 1000 free bytes for 9; remove before-restore\.\*/, restore, "aws-prod/cp-1/2026-01-03T.db.gz");
    assert.equal(here.read("/var/lib/etcd-data/etcd/member/wal/0.wal"), "old");
  });
});
