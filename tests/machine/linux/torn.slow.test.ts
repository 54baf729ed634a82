// Sees what nothing faster does: that the next boot makes again what a power failure tore.
import assert from "node:assert/strict";
import { diskFolder } from "../../../rehearsal/machines/fakeCommands.ts";
import { exampleControlPlane } from "../examples.ts";
import { describeOnMachine, entry, identity, joiningWorker, machine, type Sandbox, spec } from "./machine.ts";

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
const ours = (file: string): boolean => !others.test(file) || file.endsWith("/bootstrap-kubelet.conf");

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
  it("tears no identity: the one of before stays", () => {
    const here = machines.worker();
    here.write("/var/lib/fenestra/identity.env", identity);
    // Not a byte is left in the folder while the stage runs.
    const { code, output } = here.run(
      "bash",
      "-c",
      `cp -a /var/lib/fenestra /store/kept; cd /var/lib/fenestra; /bin/mount -t tmpfs -o size=256k tmpfs .; cd "$PWD"; cp -a /store/kept/. .
cat /dev/zero >fill; bash /opt/fenestra/stages/identity.sh; code=$?; echo "kept: $(<identity.env)"; exit $code`,
    );
    assert.notEqual(code, 0, output);
    assert.match(output, /No space left on device/);
    assert.ok(output.endsWith(`kept: ${identity}`), output);
  });
});
