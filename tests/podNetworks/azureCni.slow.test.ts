// Sees what nothing faster does: addresses of a whole program, and what a machine does with them.
import assert from "node:assert/strict";
import { securityRules } from "../../components/azure/security.ts";
import { loadConfig } from "../../components/config/load.ts";
import { linuxWorkerStages, withPodNetwork } from "../../components/machine/linux/stages.ts";
import { readWindowsScript } from "../../components/machine/windows/worker.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { ConfigError } from "../../components/model/problem.ts";
import { azureCni, windowsConflist } from "../../components/podNetworks/azureCni/network.ts";
import { collectAzureHosts } from "../../plan/fakes/azureMachines.ts";
import { existingOf } from "../../plan/fakes/provider.ts";
import { deployAzure } from "../../stacks/azure.ts";
import { manifestsOf } from "../kubernetes/switches.ts";
import { exampleLinuxWorker } from "../machine/examples.ts";
import { describeOnMachine, machine, spec } from "../machine/linux/machine.ts";
import { testAccount, withMocks } from "../support/mocks.ts";
import { stackConfig } from "../support/stacks.ts";

type Plain = Readonly<Record<string, unknown>>;

/** The stack's config with parts of `network` and others in place of its own. */
function configOf(network: Plain = {}, more: Plain = {}): Readonly<Record<string, string>> {
  const base = stackConfig("azure-cni");
  return {
    ...base,
    "fenestra:network": JSON.stringify({ ...JSON.parse(base["fenestra:network"] ?? "{}"), ...network }),
    ...Object.fromEntries(
      Object.entries(more).map(([key, value]) => [
        `fenestra:${key}`,
        typeof value === "string" ? value : JSON.stringify(value),
      ]),
    ),
  };
}

const specOf = (network?: Plain, more?: Plain) => clusterSpec(loadConfig(configOf(network, more)));

/** What is refused of a config, each with its path. */
function refused(network: Plain, more: Plain = {}) {
  try {
    loadConfig(configOf(network, more));
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ path, message }) => `${path.replace("config.fenestra:", "")} ${message}`);
  }
}

describe("Azure CNI", () => {
  it("is refused where it cannot be, and with settings that do not fit", () => {
    assert.deepEqual(refused({ zones: ["eu-central-1a"] }, { cloud: "aws", region: "eu-central-1" }), [
      "network.azureCni is a setting of Azure",
      "network.pods is not an allowed value",
    ]);
    assert.deepEqual(refused({ pods: "flannel" }), ["network.azureCni is read with network.pods: azure-cni only"]);
    assert.deepEqual(refused({ policies: "linux" }), ["network.policies is not there with network.pods: azure-cni"]);
    assert.deepEqual(refused({}, { kubernetes: { podCidr: "10.128.0.0/14" } }), [
      "kubernetes.podCidr is not used with network.pods: azure-cni, where pods have addresses of network.cidr",
    ]);
    const pools = (kubelet: Plain) => ({ pools: [{ name: "linux", os: "linux", kubelet }] });
    assert.deepEqual(refused({}, pools({ maxPods: 30 })), []);
    assert.deepEqual(refused({}, pools({ maxPods: 31 })), [
      "pools[0].kubelet.maxPods is more than network.azureCni.podsPerNode, 30, the addresses that a machine has for pods",
    ]);
  });

  it("takes an existing network whose subnets are in one range and have room for every pod", async () => {
    const given = JSON.parse(stackConfig("azure-existing")["fenestra:network"] ?? "{}");
    const { private: nodes, controlPlane } = given.existing.subnets["1"];
    const existing = (nodesRange: string, controlPlaneRange: string) => {
      const subnets = {
        private: { ...nodes, cidr: nodesRange },
        controlPlane: { ...controlPlane, cidr: controlPlaneRange },
      };
      return { ...given, pods: "azure-cni", existing: { ...given.existing, subnets: { "1": subnets, "2": subnets } } };
    };
    const pools = (count: number) => ({
      pools: [{ name: "linux", os: "linux", count }],
      controlPlane: { replicas: 3 },
    });
    assert.deepEqual(refused(existing("10.60.0.0/22", "100.64.1.0/26"), pools(2)), [
      'network.existing.subnets["1"].controlPlane.cidr is outside of network.cidr, the one range in which pods have addresses',
    ]);
    // Both zones share the subnets. 64 - 25 addresses are for one machine of 31; three of the control plane take 16 + 3
    // * 15, and Azure the last.
    assert.deepEqual(refused(existing("10.60.0.0/26", "10.60.8.0/27"), pools(1)), [
      'network.existing.subnets["1"].controlPlane.cidr is too small for 3 control-plane machines and their pods, which take the first 62 addresses',
      'network.existing.subnets["1"].private.cidr has room for 39 addresses in the subnet of zone 1 and 2, but machines and pods may take 62',
    ]);
    const network = existing("10.60.0.0/25", "10.60.8.0/26");
    const spec = specOf(network, pools(2));
    const known = new Map(existingOf(JSON.stringify(network), spec.region, testAccount));
    const found = known.get(nodes.id) ?? assert.fail();
    // 123 addresses, of which two machines of 31 want 62.
    known.set(nodes.id, { ...found, outputs: { ...found.outputs, ipConfigurations: Array(64).fill({}) } });
    const { program, hooks } = await withMocks(() => deployAzure(spec), { region: spec.region, existing: known });
    const gate = hooks.get("azure-cni-network-check-first")?.callback ?? assert.fail("no gate");
    await assert.rejects(async () => Reflect.apply(gate, undefined, [{}]), /free addresses of nodes.* is 59 .* not 62/);
    const hosts = collectAzureHosts(program, () => 2);
    assert.equal(
      new Set(hosts.flatMap(({ machine }) => [machine.privateIp, ...(machine.secondaryIps ?? [])])).size,
      3 * 16 + 2 * 31,
    );
    assert.deepEqual(
      hosts
        .slice(0, 3)
        .map(({ machine }) => [machine.privateIp, machine.secondaryIps?.[0], machine.secondaryIps?.at(-1)]),
      [
        ["10.60.8.10", "10.60.8.16", "10.60.8.30"],
        ["10.60.8.11", "10.60.8.31", "10.60.8.45"],
        ["10.60.8.12", "10.60.8.46", "10.60.8.60"],
      ],
    );
  });

  it("needs addresses for every pod of every machine, and for a tenth more machines that a roll adds", () => {
    // A /20 leaves 1,024 less 25; each machine takes 31, so 32 machines fit.
    const pools = (count: number) => ({ pools: [{ name: "linux", os: "linux", count }] });
    assert.deepEqual(refused({ cidr: "10.0.0.0/20" }, pools(29)), []);
    assert.deepEqual(refused({ cidr: "10.0.0.0/20" }, pools(30)), [
      "network.cidr has room for 999 addresses in the subnet of zone 1, but machines and pods may take 1023",
    ]);
    // One security group holds 4,000 addresses: 129 machines of 31, of which a roll adds 12.
    assert.deepEqual(refused({ cidr: "10.0.0.0/16" }, pools(117)), []);
    assert.deepEqual(refused({ cidr: "10.0.0.0/16" }, pools(118)), [
      "pools may be so many machines at once, which take 4030 addresses: a security group of Azure holds 4000",
    ]);
  });

  it("opens machines to each other's pods, but etcd to no worker", () => {
    const order = securityRules(specOf())
      .filter(({ group }) => group === "control-plane")
      .toSorted((a, b) => a.priority - b.priority)
      .map(({ name, access, ports }) => `${access} ${name} ${ports.join()}`);
    assert.deepEqual(order.slice(-4), [
      "Deny control-plane-etcd-closed 2379-2380",
      "Allow control-plane-pods-from-control-plane *",
      "Allow control-plane-pods-from-workers *",
      "Deny control-plane-closed *",
    ]);
    assert.ok(!order.some((rule) => rule.includes("4789")));
  });

  it("installs the plug-in before the configuration that names it", () => {
    const sets = manifestsOf(specOf()).filter(({ kind }) => kind === "DaemonSet");
    assert.ok(sets.every(({ metadata }) => !/flannel/.test(metadata.name)));
    assert.deepEqual(
      JSON.stringify(sets.find(({ metadata }) => metadata.name === "azure-cni-installer")).match(
        /"\/(?:opt\/cni\/bin|etc\/cni\/net\.d)\/[^"]+"/g,
      ),
      ['"/opt/cni/bin/azure-vnet"', '"/opt/cni/bin/azure-vnet-ipam"', '"/etc/cni/net.d/10-azure.conflist"'],
    );
  });

  it("has policies of Windows pods in the flat form of version 1, which its plug-in alone reads", () => {
    const { plugins } = JSON.parse(windowsConflist(specOf(), { metadataAcl: true }));
    const values: readonly Plain[] = plugins[0].AdditionalArgs.map(({ Value }: { Value: Plain }) => Value);
    assert.ok(values.every((value) => !("Settings" in value)));
    assert.deepEqual(
      values
        .filter(({ Action }) => Action === "Block")
        .map(({ RemoteAddresses, RemotePorts }) => `${RemoteAddresses} ${RemotePorts}`),
      ["169.254.169.254/32 80", "168.63.129.16/32 80", "168.63.129.16/32 32526"],
    );
  });

  it("frees the addresses before anything of a Linux machine is reached by one, and makes a Windows node Ready last", () => {
    assert.deepEqual(
      withPodNetwork(linuxWorkerStages, azureCni)
        .map(({ name }) => name)
        .slice(0, 5),
      ["identity", "timers", "os", "pod-network", "artifacts"],
    );
    const script = ["start-kube-proxy.ps1", "routes.ps1"].map((name) => readWindowsScript(name, azureCni)).join("");
    const steps = [
      "Clear-State $Machine",
      "New-FirstNetwork $Machine",
      "Repair-Routes $Network",
      "Write-Text $Network.conflist",
    ];
    const places = steps.map((step) => script.indexOf(step));
    assert.ok(places.every((place, index) => place > (places[index - 1] ?? 0)));
  });
});

describeOnMachine("a Linux machine with Azure CNI", () => {
  it("leaves the interface its own address, which networkd takes away and asks for again", () => {
    const here = machine(exampleLinuxWorker({ ...specOf(), artifacts: spec.artifacts }));
    assert.match(
      here.read("/etc/systemd/network/05-fenestra.network"),
      /^\[Match\]\nDriver=hv_netvsc\n\n\[Network\]\nDHCP=ipv4\n/m,
    );
    here.write("/var/lib/fenestra/identity.env", "NODE_IP=10.0.0.5\n");
    const add = (last: number) => `ip address add 10.0.0.${last}/24 dev eth0`;
    // What networkd 252 was seen to do within a second, no address at all and then that of DHCP, and one that it
    // leaves.
    const again = `[ -e /store/gone ] && { ${add(5)}; ${add(7)}; } || { touch /store/gone; ip address flush dev eth0; }`;
    here.writeScript("/store/on-sleep", `#!/bin/bash\n${again}\n`);
    const stage = "bash /opt/fenestra/stages/pod-network.sh";
    const link = `ip link add eth0 type veth peer name other; ${[5, 6, 7].map(add).join("; ")}`;
    const shown = "ip -4 -oneline address show dev eth0 | awk '{ print $4 }'";
    const { output, matching } = here.run(
      "unshare",
      "--net",
      "bash",
      "-c",
      `${link}; ${stage} && ${stage} && ${shown}`,
    );
    assert.match(output, /^\S+ 10\.0\.0\.7\/24 of eth0 is for pods\n10\.0\.0\.5\/24\n$/);
    assert.deepEqual(matching(/^(networkctl|sleep)/), ["networkctl reload", "sleep 1", "sleep 1"]);
  });
});
