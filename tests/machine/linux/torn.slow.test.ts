import assert from "node:assert/strict";
import { afterEach, before, describe, it } from "mocha";
import { diskFolder } from "../../../rehearsal/testkit/machines.ts";
import { exampleControlPlane, exampleLinuxWorker } from "./examples.ts";
import { disposeMachine, entry, joinSecret, machine, needsNamespaces, secretPrefix, spec } from "./machine.ts";
import type { Sandbox } from "./sandbox.ts";

/** What may be in a file's place after a power failure, a full disk or somebody's slip. */
const ways: Readonly<Record<string, (here: Sandbox, file: string, content: string) => void>> = {
  missing: () => undefined,
  empty: (here, file) => here.write(file, ""),
  half: (here, file, content) => here.write(file, content.slice(0, content.length / 2)),
  NULs: (here, file, content) => here.write(file, "\0".repeat(content.length)),
  garbage: (here, file) => here.write(file, "$(touch /store/executed) ' \" \n=\n"),
  "a folder": (here, file) => here.write(`${file}/x`, ""),
};

const machines = {
  worker: () => {
    const here = machine(exampleLinuxWorker(spec));
    here.write("/store/address", "10.20.0.9");
    here.secret(`${secretPrefix}/join`, joinSecret(3600));
    return here;
  },
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

describe("files of a Linux machine that are torn", function () {
  this.timeout(120_000);
  before(needsNamespaces);
  afterEach(disposeMachine);

  for (const [kind, boots] of Object.entries(machines)) {
    for (const [way, tear] of Object.entries(ways)) {
      it(`${kind}: the next boot makes again all that is ${way}`, () => {
        const here = boots();
        const first = here.run(entry);
        assert.equal(first.code, 0, first.output);
        const files = folders.flatMap((folder) => here.files(folder)).filter(ours);
        const contents = files.map((file) => here.read(file));
        assert.ok(files.length > 15, files.join("\n"));
        for (const [index, file] of files.entries()) {
          here.remove(file);
          tear(here, file, contents[index] ?? "");
        }
        const { code, output } = here.run(entry);
        assert.equal(code, 0, output);
        for (const [index, file] of files.entries()) assert.equal(here.read(file), contents[index], file);
        assert.equal(here.has("/store/executed"), false);
      });
    }
  }
});
