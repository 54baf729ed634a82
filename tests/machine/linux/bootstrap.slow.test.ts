// Sees what nothing faster does: that the stages together bring a machine up, and what each leaves when it is cut off.
import assert from "node:assert/strict";
import path from "node:path";
import { diskFolder } from "../../../rehearsal/machines/fakeCommands.ts";
import { matchSnapshot } from "../../support/snapshot.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleControlPlane, exampleLinuxWorker } from "../examples.ts";
import {
  bootedControlPlane,
  caCertificate,
  describeOnMachine,
  disposeMachine,
  entry,
  identity,
  joiningWorker,
  joinSecret,
  machine,
  secretPrefix,
  spec,
} from "./machine.ts";

describeOnMachine("bootstrap of a Linux machine", () => {
  it("brings up a control-plane machine by the snapshot's calls, without secrets, once", () => {
    const here = machine(exampleControlPlane(spec));
    const { calls, output } = here.runOrFail(entry);
    const shown = calls
      .filter((call) => !/^(curl|sleep)/.test(call))
      .map((call) =>
        call.replace(/"\d{4}-[0-9T:-]+Z"| --(kube)?config \S+/g, (part) => (part.endsWith('"') ? "<time>" : "")),
      );
    matchSnapshot(path.join(import.meta.dirname, "snapshots/linuxCalls.control-plane.txt"), `${shown.join("\n")}\n`);
    assert.match(
      here.read("/etc/hosts"),
      /^10\.20\.224\.10 aws-prod-api-0123456789abcdef\.elb\.eu-central-1\.amazonaws\.com # fenestra$/m,
    );
    assert.match(here.read("/etc/fstab"), /^# \/swap none swap sw 0 0$/m);
    assert.equal(here.read("/etc/chrony/sources.d/fenestra.sources"), "server 169.254.169.123 prefer iburst\n");
    assert.equal(here.read("/etc/systemd/timesyncd.conf.d/fenestra.conf"), "[Time]\nNTP=169.254.169.123\n");
    assert.match(
      here.read("/var/lib/kubelet/config.yaml"),
      /^providerID: "aws:\/\/\/eu-central-1a\/i-0123456789abcdef0"$/m,
    );
    assert.match(
      here.read("/var/lib/kubelet/kubelet.env"),
      /--hostname-override=i-0123456789abcdef0 --node-ip=10\.20\.224\.10 /,
    );
    // Written into after it was closed to others.
    assert.equal(here.run("stat", "--format", "%a", "/var/lib/kubelet").output, "700\n");
    assert.match(here.read("/usr/local/bin/etcdctl"), /etcdctl "\$@"$/m);
    assert.equal(here.has("/usr/local/bin/etcd"), false);
    assert.match(here.read("/var/log/fenestra/bootstrap.log"), /bootstrap all stages are done\n$/);
    const kubeadm = here.read("/etc/kubernetes/kubeadm.yaml");
    assert.match(kubeadm, /initial-cluster-state\n\s+value: "new"$/m);
    assert.doesNotMatch(kubeadm, /@[A-Z_]+@/);

    const token = /\\"token\\":\\"([a-z0-9]{6}\.([a-z0-9]{16}))\\"/.exec(here.read("/store/put")) ?? assert.fail();
    const seen = `${output}\n${calls.join("\n")}\n${here.read("/var/log/fenestra/bootstrap.log")}`;
    const key = Buffer.alloc(32, 7).toString("base64");
    for (const secret of [...token.slice(1), "SECRETKEY", "SESSIONTOKEN", "PRIVATE KEY", key])
      assert.equal(seen.includes(secret), false, secret);
    assert.match(here.read("/store/configs"), /user = "AKID:SECRETKEY"/);

    // What a restore takes away is published again; else it grows the file system, starts the kubelet and looks around.
    here.remove("/store/tokens");
    const again = here.runOrFail(entry);
    assert.equal(again.output.match(/already done/g)?.length, 14);
    const done = again.matching(/^(kubeadm|kubectl|mkfs|resize2fs|crictl|mount |etcdctl|systemctl start)/);
    assert.deepEqual(
      done.map((call) => call.replace(/ --(output|selector).*/, "").replace(/kubectl --kubeconfig \S+/, "kubectl")),
      [
        "resize2fs /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0",
        "systemctl start kubelet.service",
        "kubectl annotate node i-0123456789abcdef0 --overwrite fenestra.dev/failed-",
        "kubectl --namespace kube-system get secrets",
        "kubectl --namespace kube-system create --filename -",
      ],
    );
  });

  it("updates kube-proxy, and gives CoreDNS the image that kubeadm knows", () => {
    const here = bootedControlPlane();
    here.write("/store/own-dns", "");
    const { output, calls } = here.stageOrFail("addons");
    assert.deepEqual(
      calls.flatMap((call) => /addon [a-z-]+|images list|set image.*/.exec(call)?.[0] ?? []),
      [
        "addon kube-proxy",
        "addon coredns",
        "addon coredns",
        "images list",
        "set image deployment/coredns coredns=registry.k8s.io/coredns/coredns:v1.14.2",
        "addon coredns",
      ],
    );
    assert.match(output, /not supported[\s\S]*warning: kubeadm refuses the CoreDNS that is there/);
  });

  it("takes away bridge, addresses and route of an earlier range alone", () => {
    const route = (number: number) => `10.244.${number}.0/24 via 10.244.${number}.0 dev flannel.1 onlink\n`;
    const file = "/run/flannel/subnet.env";
    for (const { range, of, pods } of [
      { range: "10.244.0.0/24", of: "10.244.0.1/24", pods: [] },
      { range: "10.244.7.0/24", of: "10.244.7.1/24", pods: ["with-address"] },
      // flannel of the Node before: it starts anew, or the next pod brings the bridge back.
      { range: "10.244.7.0/24", of: "10.244.0.1/24", pods: ["flannel", "with-address"] },
      { range: "10.244.7.0/24", of: "torn", pods: ["flannel", "with-address"] },
    ]) {
      const gone = pods.length > 0;
      const here = bootedControlPlane();
      here.write("/store/range", range);
      here.write("/store/bridge", "");
      here.write("/store/routes", route(3) + route(7));
      here.write("/var/lib/cni/networks/cbr0/10.244.0.5", "id");
      here.write(file, `FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=${of}\n`);
      const { output, matching } = here.stageOrFail("node");
      assert.deepEqual([!here.has("/store/bridge"), !here.has("/var/lib/cni/networks")], [gone, gone], output);
      assert.equal(here.read("/store/routes"), gone ? route(3) : route(3) + route(7), output);
      assert.equal(here.has(file), !pods.includes("flannel"));
      assert.deepEqual(
        matching(/^crictl stopp/).map((call) => call.split(" ").at(-1)),
        pods,
      );
      disposeMachine();
    }
  });

  it("begins anew on a disk that was another machine's", () => {
    const here = joiningWorker();
    here.runOrFail(entry);
    here.write("/var/lib/kubelet/pki/kubelet-client-current.pem", "the other machine's");
    const identity = here.read("/var/lib/fenestra/identity.env");
    here.write("/var/lib/fenestra/identity.env", identity.replaceAll("i-0123456789abcdef0", "i-0another"));
    const { output, calls, matching } = here.runOrFail(entry);
    assert.equal(matching(/^systemctl .*\bkubelet\.service$/)[0], "systemctl stop kubelet.service");
    assert.ok(calls.includes("systemctl enable --now fenestra-drain.service"));
    assert.match(output, /this disk was that of aws:\/\/\/eu-central-1a\/i-0another/);
    assert.doesNotMatch(output, /already done/);
    assert.equal(here.has("/var/lib/kubelet/pki/kubelet-client-current.pem"), false);
    assert.equal(here.read("/var/lib/fenestra/identity.env"), identity);
  });

  for (const [what, page, isFleeting, says] of [
    ["a page instead of the machine's id", "<html>busy</html>", false, /'<html>busy<\/html>' is not an answer/],
    ["one answer that names another machine", "i-0fedcba9876543210", true, /names one machine and then another/],
  ] as const)
    it(`throws nothing away for ${what}`, () => {
      const here = joiningWorker();
      here.write("/var/lib/fenestra/identity.env", identity);
      here.write("/var/lib/kubelet/pki/kubelet-client-current.pem", "this machine's");
      here.write("/store/page", page);
      if (isFleeting) here.writeScript("/store/on-sleep", `#!/bin/bash\nrm -f "\${0%/*}/page"\n`);
      here.fails(10, says, entry);
      assert.deepEqual(
        [here.read("/var/lib/kubelet/pki/kubelet-client-current.pem"), here.read("/var/lib/fenestra/identity.env")],
        ["this machine's", identity],
      );
    });

  for (const [stage, exitCode, call] of [
    ["volume", 20, "^mkfs.ext4"],
    ["addons", 30, "^kubeadm.*addon coredns"],
  ] as const)
    it(`ends with ${exitCode} when ${stage} fails, and survives a cut there`, () => {
      const here = machine(exampleControlPlane(spec));
      // Here the API does not show each static pod yet.
      for (const each of [call, "tier=control-plane"]) here.breaks("fail", each);
      const failed = here.run(entry);
      assert.equal(failed.code, exitCode, failed.output);
      assert.equal(failed.matching(/^systemctl restart kubelet/).length, stage === "addons" ? 1 : 0);
      assert.match(
        failed.output,
        new RegExp(`bootstrap ${stage}: failed after \\d+ s with status 1; exit code ${exitCode}`),
      );
      here.mend();
      here.breaks("cut", call);
      const cut = here.run(entry);
      assert.equal(cut.code, 137, cut.output);
      assert.deepEqual(here.runOrFail(entry).matching(/^mkfs/).length, stage === "volume" ? 1 : 0);
    });

  it("installs nothing whose digest is wrong", () => {
    const here = machine(exampleControlPlane(spec));
    here.artifact("kubelet", Buffer.from("something else"));
    here.fails(
      12,
      /kubelet from https:\/\/dl\.k8s\.io\/release\/v1\.37\.1\/bin\/linux\/amd64\/kubelet has not the digest sha256:/,
      entry,
    );
    assert.equal(here.has("/usr/local/bin/kubelet"), false);
  });

  for (const [what, file, content, says] of [
    ["holds something else", "formatted", "xfs\n", /holds 'xfs', neither nothing nor ext4/],
    ["has been written to", "dirty", "", /holds no file system that is known, but it is not empty; it is left alone/],
  ] as const)
    it(`formats no volume that ${what}`, () => {
      const here = machine(exampleControlPlane(spec));
      here.write(`${diskFolder}/${file}`, content);
      assert.deepEqual(here.fails(20, says, entry).matching(/^mkfs/), []);
    });

  it("waits with add-ons for an older API server, and no other", () => {
    const here = machine(exampleControlPlane(spec));
    here.write("/store/version", JSON.stringify({ gitVersion: "v1.36.9" }));
    here.fails(30, /an API server is older than 1\.37\.1; the add-ons wait/, entry);
    here.write("/store/version", JSON.stringify({ gitVersion: "v1.37.10" }));
    here.breaks("fail", "^kubectl.*10\\.20\\.228\\.10.*/version");
    here.runOrFail(entry);
  });

  it("joins with a fresh secret only", () => {
    const here = joiningWorker();
    for (const [secret, says] of [
      ["placeholder", /no join secret has been published yet/],
      [joinSecret(30), /the join secret has expired at/],
    ] as const) {
      here.secret(`${secretPrefix}/join`, secret);
      here.fails(40, says, entry);
      assert.equal(here.has("/etc/kubernetes/bootstrap-kubelet.conf"), false);
    }
    // The control plane publishes while the worker waits.
    here.write("/store/fresh", joinSecret(3600));
    here.writeScript(
      "/store/on-sleep",
      `#!/bin/bash\ncp "\${0%/*}/fresh" "\${0%/*}/secrets/_fenestra_${spec.name}_join"\n`,
    );
    const fresh = here.runOrFail(entry);
    const kubeconfig = here.read("/etc/kubernetes/bootstrap-kubelet.conf");
    assert.match(kubeconfig, /"server": "https:\/\/api\.internal:6443"/);
    assert.match(kubeconfig, /"token": "abcdef\.0123456789abcdef"/);
    assert.equal(fresh.output.includes("abcdef.0123456789abcdef"), false);
    assert.deepEqual(fresh.matching(/autoscaling/).length, 1);
  });

  it("reads the join secret until the kubelet has its certificate", () => {
    const here = joiningWorker();
    here.breaks("fail", "^kubectl.* (get|wait) node");
    // The kubelet writes it when it starts, before it has a certificate.
    here.write("/etc/kubernetes/kubelet.conf", "names a certificate that is not there\n");
    assert.equal(here.run(entry).code, 41);
    here.secret(`${secretPrefix}/join`, joinSecret(7200).replace("abcdef.0123456789abcdef", "fedcba.0123456789abcdef"));
    assert.equal(here.run(entry).code, 41);
    assert.match(here.read("/etc/kubernetes/bootstrap-kubelet.conf"), /"token": "fedcba\.0123456789abcdef"/);

    here.write("/var/lib/kubelet/pki/kubelet-client-current.pem", caCertificate);
    assert.equal(here.run(entry).code, 41);
    here.secret(`${secretPrefix}/join`, joinSecret(7200));
    here.mend();
    assert.match(here.runOrFail(entry).output, /bootstrap join: already done/);
    assert.match(here.read("/etc/kubernetes/bootstrap-kubelet.conf"), /"token": "fedcba\.0123456789abcdef"/);
  });

  const key2 = Buffer.alloc(32, 9).toString("base64");
  const encrypted = (of: typeof spec) => {
    const here = machine(exampleControlPlane({ ...of, secretsEncryption: { keys: ["key2", "key1"] } }));
    here.secret(`${secretPrefix}/encryption-key-key2`, key2);
    return here;
  };

  it("places Secrets' keys in order, and refuses others of etcd", () => {
    const here = encrypted(spec);
    here.write("/store/members", `b1, started, cp-1, https://10.20.224.74:2380, https://10.20.224.74:2379, false\n`);
    here.write("/store/etcd", "/registry/secrets/a/b\nk8s:enc:secretbox:v1:key0:\u0000x\n");
    const refused = here.run(entry);
    assert.deepEqual([refused.code, refused.matching(/phase etcd/)], [33, []]);
    assert.match(refused.output, /Number and key: +1 secretbox:v1:key0$/m);
    const [names, secrets] = ["name", "secret"].map((field) =>
      [...here.read("/etc/kubernetes/pki/encryption.yaml").matchAll(new RegExp(`${field}: "?([^"\n]+)`, "g"))].map(
        ([, value]) => value,
      ),
    );
    assert.deepEqual(
      [names, secrets],
      [
        ["key2", "key1"],
        [key2, Buffer.alloc(32, 7).toString("base64")],
      ],
    );
    here.write("/store/etcd", "/registry/secrets/a/b\nk8s:enc:secretbox:v1:key1:x\n");
    here.runOrFail(entry);
  });

  it("looks for other keys before its API server is ready", () => {
    const [first] = spec.controlPlane.members;
    assert.ok(first !== undefined);
    const here = encrypted({ ...spec, controlPlane: { ...spec.controlPlane, members: [first] } });
    here.write("/store/etcd", "/registry/secrets/a/b\nk8s:enc:secretbox:v1:key0:x\n");
    here.breaks("fail", "/readyz");
    here.fails(33, /Number and key: +1 secretbox:v1:key0$/m, entry);
    here.breaks("fail", "get up");
    const silent = here.run(entry);
    assert.deepEqual([silent.code, /etcd does not answer/.test(silent.output)], [33, true], silent.output);
  });

  it("restarts what has read the proxy's login when that changes", () => {
    const credentials = { proxy: true, registries: [] };
    const here = machine(exampleLinuxWorker({ ...spec, httpProxy: "http://proxy.example.com:3128", credentials }));
    here.set({ CREDENTIALS_SECRET: `${secretPrefix}/credentials` });
    const restarted = (password: string) => {
      here.secret(`${secretPrefix}/credentials`, JSON.stringify({ LOGIN_PROXY: `svc:${password}` }));
      return here.runOrFail("/opt/fenestra/stages/credentials.sh").matching(/^systemctl/);
    };
    assert.deepEqual(restarted("a"), []);
    for (const name of ["containerd-started", "kubelet-started"]) here.write(`/var/lib/fenestra/${name}`, "");
    assert.deepEqual(restarted("a"), []);
    assert.deepEqual(restarted("b"), ["systemctl restart containerd.service"]);
    here.write("/etc/fenestra/credential-providers.yaml", "");
    assert.deepEqual(restarted("c"), ["systemctl restart containerd.service", "systemctl try-restart kubelet.service"]);
  });

  it("names machines on Azure, and keeps pods from its metadata", () => {
    const here = machine(exampleControlPlane({ ...exampleSpec("azure-prod"), artifacts: spec.artifacts }));
    const address = exampleSpec("azure-prod").controlPlane.members[0]?.address ?? "";
    const group = "/subscriptions/0123/resourceGroups/AZURE-PROD-RG";
    const machinePath = "providers/Microsoft.Compute/virtualMachines/azure-prod-cp-0";
    here.write(
      "/store/instance",
      JSON.stringify({
        compute: {
          osProfile: { adminUsername: "fenestra", computerName: "Azure-Prod-CP-0" },
          resourceGroupName: "Azure-Prod-RG",
          resourceId: `${group}/${machinePath}`,
        },
        network: { interface: [{ ipv4: { ipAddress: [{ privateIpAddress: address }] } }] },
      }),
    );
    here.stageOrFail("identity");
    assert.equal(
      here.read("/var/lib/fenestra/identity.env"),
      `NODE_NAME=azure-prod-cp-0\nPROVIDER_ID=azure://${group.toLowerCase().replace("resourcegroups", "resourceGroups")}/${machinePath}\nNODE_IP=${address}\n`,
    );
    const os = here.stageOrFail("os");
    assert.ok(os.calls.includes("systemctl enable --now fenestra-metadata-guard.service"));
    // Disks that are there, and those of claims.
    assert.match(here.read("/etc/udev/rules.d/90-fenestra.rules"), /^ACTION=="add\|change", .*read_ahead_kb}="128"$/m);
    assert.deepEqual(os.matching(/^udevadm/), ["udevadm control --reload", "udevadm trigger --subsystem-match=block"]);
    assert.deepEqual(here.runOrFail("/opt/fenestra/guard-metadata.sh").matching(/--insert/), [
      "iptables --wait 30 --insert FORWARD 1 --source 10.244.0.0/16 --destination 169.254.169.254/32 --jump DROP",
      "iptables --wait 30 --insert FORWARD 1 --source 10.244.0.0/16 --destination 168.63.129.16/32 --protocol tcp --match multiport --dports 80,32526 --jump DROP",
    ]);
  });
});
