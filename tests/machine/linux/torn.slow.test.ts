// Sees what nothing faster does: that the next boot makes again what a power failure tore.
import assert from "node:assert/strict";
import { diskFolder } from "../../../rehearsal/machines/fakeCommands.ts";
import { exampleControlPlane } from "../examples.ts";
import {
  describeOnMachine,
  entry,
  identity,
  joiningWorker,
  machine,
  runningControlPlane,
  type Sandbox,
  spec,
} from "./machine.ts";

/** What may be in a file's place after a power failure, a full disk or somebody's slip. */
const ways: Readonly<Record<string, (here: Sandbox, file: string, content: string) => void>> = {
  half: (here, file, content) => here.write(file, content.slice(0, content.length / 2)),
  NULs: (here, file, content) => here.write(file, "\0".repeat(content.length)),
  garbage: (here, file) => here.write(file, "$(touch /store/executed) ' \" \n=\n"),
  "a folder": (here, file) => here.write(`${file}/x`, ""),
};

const machines = {
  worker: joiningWorker,
  "control plane": () => {
    const here = machine(exampleControlPlane(spec));
    // Of a member that is among the voters.
    here.write(`${diskFolder}/formatted`, "");
    here.write(`${diskFolder}/content/etcd/member/wal/0.wal`, "");
    here.write("/store/members", "a0, started, cp-0, https://10.20.224.10:2380, https://10.20.224.10:2379, false\n");
    return here;
  },
};
/** Where a boot leaves what it has made. */
const folders = ["/var/lib/fenestra", "/var/lib/kubelet", "/etc/kubernetes"];
/** Downloads; what only shows that a service was started; what kubeadm writes. */
const others =
  /^\/var\/lib\/fenestra\/(?:downloads|.*-started$)|^\/etc\/kubernetes\/(?:manifests|[a-z-]+\.conf$|pki\/(?!.*ca\.|sa\.|encryption))/;
/** kubeadm's is in its place before a worker's kubelet has a certificate. */
const ours = (file: string) => !others.test(file) || file.endsWith("/bootstrap-kubelet.conf");

describeOnMachine(
  "files of a Linux machine that are torn",
  () => {
    for (const [kind, boots] of Object.entries(machines))
      it(`${kind}: the next boot makes again all that is ${Object.keys(ways).join(", ")}`, () => {
        const here = boots();
        here.runOrFail(entry);
        const files = folders.flatMap((folder) => here.files(folder)).filter(ours);
        const contents = files.map((file) => here.read(file));
        assert.ok(files.length > 15, files.join("\n"));
        // Each file in two of the ways, its neighbours in others.
        const tears = Object.entries(ways);
        for (const turn of [0, 2]) {
          const torn = files.map((_, index) => tears[(index + turn) % tears.length] ?? assert.fail());
          for (const [index, file] of files.entries()) {
            here.remove(file);
            torn[index]?.[1](here, file, contents[index] ?? "");
          }
          here.runOrFail(entry);
          for (const [index, file] of files.entries())
            assert.equal(here.read(file), contents[index], `${torn[index]?.[0]}: ${file}`);
        }
        assert.equal(here.has("/store/executed"), false);
      });
  },
  120_000,
);

describeOnMachine("a disk of a Linux machine that is full", () => {
  /** Runs a command while a folder of the machine has not a byte left, and shows the files in it afterwards. */
  const full = (here: Sandbox, folder: string, command: string) =>
    here.run(
      "bash",
      "-c",
      `cp -a ${folder} /store/kept; /bin/mount -t tmpfs -o size=256k tmpfs ${folder}; cp -a /store/kept/. ${folder}; cat /dev/zero >${folder}/fill
${command}; code=$?; rm ${folder}/fill; cd ${folder} && for file in $(find . -type f); do echo "$file: $(<"$file")"; done; exit $code`,
    );

  it("lets no renewal begin", () => {
    const here = runningControlPlane();
    here.write("/var/lib/fenestra/done/x", "");
    here.set({ TURN_SECONDS: 1 });
    const { code, output, matching } = full(here, "/var/lib/fenestra", "/opt/fenestra/renew-certificates.sh");
    assert.notEqual(code, 0, output);
    assert.match(output, /No space left on device/);
    assert.doesNotMatch(output, /\.\/renewing/);
    assert.deepEqual(matching(/^(kubeadm|crictl)/), []);
  });

  it("tears no identity: the one of before stays", () => {
    const here = machines.worker();
    here.write("/var/lib/fenestra/identity.env", identity);
    const { code, output } = full(here, "/var/lib/fenestra", "bash /opt/fenestra/stages/identity.sh");
    assert.notEqual(code, 0, output);
    assert.ok(output.includes(`./identity.env: ${identity.trimEnd()}`), output);
  });

  it("costs a drain nothing: pods move, the group is told once", () => {
    const here = machines.worker();
    here.set({ DRAIN_SECONDS: 5, LEAVE_SECONDS: 987, BALANCER_SECONDS: 0 });
    here.breaks("cut", "^sleep 987");
    here.write("/var/lib/fenestra/identity.env", identity);
    here.write("/etc/kubernetes/kubelet.conf", "");
    here.write("/run/fenestra/x", "");
    here.write("/store/notice", "Terminated");
    here.write("/store/pods", "shop\tweb-1\tRunning\tReplicaSet\t\n");
    const { output, calls, matching } = full(here, "/run/fenestra", "/opt/fenestra/drain.sh");
    assert.ok(
      calls.some((made) => made.includes("/eviction")),
      output,
    );
    assert.equal(matching(/CompleteLifecycleAction/).length, 1, output);
  });

  it("costs a bootstrap its log, not the node", () => {
    const here = machines.worker();
    here.write("/var/log/fenestra/x", "");
    const { code, output } = full(here, "/var/log/fenestra", entry);
    assert.equal(code, 0, output);
    assert.match(output, /all stages are done/);
  });
});
