import assert from "node:assert/strict";
import { probeService } from "../../check/cluster/probePods.ts";
import { securityRules as awsRules } from "../../components/aws/security.ts";
import { securityRules as azureRules } from "../../components/azure/security.ts";
import { type Manifest, podSpec } from "../../components/kubernetes/manifest.ts";
import { kubeProxyProgram } from "../../components/machine/windows/services.ts";
import { firewallRules } from "../../components/machine/windows/system.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { controlPlaneKey } from "../../components/model/pools.ts";
import { nodePorts, type PortRange } from "../../components/model/ports.ts";
import { type MachineGroup, machineGroups } from "../../components/model/traffic.ts";
import { combinations, manifest, manifestsOf, specOfTitle } from "../kubernetes/switches.ts";
import { exampleControlPlane } from "../machine/examples.ts";

/** Machines, or load balancers with their health checks. */
type Asker = MachineGroup | "balancer";

/** A call to a machine from elsewhere. */
interface Wanted {
  readonly from: Asker;
  readonly to: MachineGroup;
  readonly protocol: "tcp" | "udp";
  readonly port: number;
  readonly why: string;
}

const between = (to: readonly MachineGroup[], protocol: Wanted["protocol"], port: number, why: string): Wanted[] =>
  to.flatMap((target) => machineGroups.map((from) => ({ from, to: target, protocol, port, why })));

/** Machines for a workload's pods. */
function homes(manifest: Manifest): readonly MachineGroup[] {
  const { nodeSelector = {}, tolerations = [] } = podSpec(manifest) ?? {};
  if (nodeSelector["kubernetes.io/os"] === "windows") return ["workers"];
  if (controlPlaneKey in nodeSelector) return ["control-plane"];
  return tolerations.some(({ key }) => key === undefined || key === controlPlaneKey) ? machineGroups : ["workers"];
}

/** Host network ports that a Service names, so that others call them. */
function scraped(objects: readonly Manifest[]): readonly Wanted[] {
  const pods = objects.filter((each) => podSpec(each)?.hostNetwork === true);
  return objects.flatMap((service) => {
    if (service.kind !== "Service") return [];
    const selector = Object.entries(service.spec?.selector ?? {});
    return pods.flatMap((workload) => {
      if (workload.kind !== "Deployment" && workload.kind !== "DaemonSet") return [];
      const labels = workload.spec?.template.metadata?.labels ?? {};
      if (selector.length === 0 || selector.some(([key, value]) => labels[key] !== value)) return [];
      const numbers = podSpec(workload)?.containers.flatMap(({ ports = [] }) =>
        ports.map((each) => each.containerPort),
      );
      return (numbers ?? []).flatMap((port) =>
        between(homes(workload), "tcp", port, `Service ${service.metadata.name}`),
      );
    });
  });
}

/** Ports that control-plane machines call on each other: addresses in their files. */
function asked(spec: ClusterSpec): readonly Wanted[] {
  const text = exampleControlPlane(spec)
    .files.map(({ content }) => content)
    .join("\n");
  const numbers = [...text.matchAll(/https:\/\/(?:\$\w+|\d+\.\d+\.\d+\.\d+):(\d+)/g)]
    .filter(([address]) => !address.includes("127.0.0.1"))
    .map(([, port]) => Number(port));
  return [...new Set(numbers)].map((port) => ({
    from: "control-plane",
    to: "control-plane",
    protocol: "tcp",
    port,
    why: "files of the control plane",
  }));
}

/** Metrics that kubeadm's programs serve to other machines, listening on all addresses or the machine's. */
function metrics(spec: ClusterSpec): readonly Wanted[] {
  const text = exampleControlPlane(spec).files.find(({ path }) => path === "/etc/fenestra/kubeadm.yaml")?.content ?? "";
  const etcd = /name: listen-metrics-urls\n\s+value: \S+,http:\/\/[\d.]+:(\d+)/.exec(text)?.[1];
  const proxy = /^metricsBindAddress: 0\.0\.0\.0:(\d+)$/m.exec(text)?.[1];
  const controllers = /name: bind-address\n\s+value: 0\.0\.0\.0/.test(text) ? [10_257, 10_259] : [];
  return [
    ...[...(etcd === undefined ? [] : [Number(etcd)]), ...controllers].flatMap((port) =>
      between(["control-plane"], "tcp", port, "metrics"),
    ),
    ...(proxy === undefined ? [] : between(machineGroups, "tcp", Number(proxy), "metrics of kube-proxy")),
  ];
}

/** kube-proxy's port for load balancers' health checks. */
function healthPort(spec: ClusterSpec) {
  const text = kubeProxyProgram(spec).arguments.join("\n");
  return Number(/^--healthz-bind-address=0\.0\.0\.0:(\d+)$/m.exec(text)?.[1]);
}

function wanted(spec: ClusterSpec): readonly Wanted[] {
  const objects = manifestsOf(spec);
  const netConf: unknown = JSON.parse(
    String(manifest(objects, "ConfigMap", "kube-flannel-cfg").data?.["net-conf.json"]),
  );
  const vxlan = Number(/"Port":\s*(\d+)/.exec(JSON.stringify(netConf))?.[1]);
  const services = [...objects.filter((each) => each.kind === "Service"), probeService("linux", "NodePort")];
  const open = services.filter(({ spec: of }) => of?.type === "NodePort" || of?.type === "LoadBalancer");
  return [
    ...between(machineGroups, "udp", vxlan, "flannel"),
    // kubeadm's bindPort; pods use the address of the Service `kubernetes`, behind the internal load balancer.
    ...between(["control-plane"], "tcp", 6443, "API"),
    // kubelet's default. `kubectl logs` and `exec`, which verify checks, come from API servers, metrics-server's calls
    // from its node.
    ...between(machineGroups, "tcp", 10_250, "logs, exec, kubectl top"),
    { from: "balancer", to: "control-plane", protocol: "tcp", port: 6443, why: "API and health of the API servers" },
    // On AWS the cloud controller admits Services' load balancers itself.
    ...(spec.cloud === "aws"
      ? []
      : [healthPort(spec)].map((port) => ({
          from: "balancer" as const,
          to: "workers" as const,
          protocol: "tcp" as const,
          port,
          why: "health of the nodes behind Services",
        }))),
    ...asked(spec),
    ...metrics(spec),
    ...scraped(objects),
    ...(open.length === 0 ? [] : [nodePorts.first, nodePorts.last]).flatMap((port) =>
      // verify uses TCP; a user's Service may be UDP.
      (["tcp", "udp"] as const).flatMap((protocol) => between(["workers"], protocol, port, "NodePorts")),
    ),
  ];
}

/** A cloud's rules in one form, in order. */
interface Rule {
  readonly name: string;
  readonly to: string;
  /** Groups of machines, or `balancer`. */
  readonly from: readonly string[];
  readonly protocol: string;
  readonly ranges: readonly PortRange[];
  readonly allow: boolean;
}

const tags: Readonly<Record<string, readonly string[]>> = {
  AzureLoadBalancer: ["balancer"],
  // The network's own and connected networks' addresses.
  VirtualNetwork: machineGroups,
  "*": [...machineGroups, "balancer"],
};
const everyPort: PortRange = { first: 0, last: 65_535 };

const clouds: Readonly<
  Record<"aws" | "azure", { readonly rules: (spec: ClusterSpec) => readonly Rule[]; readonly otherwise: boolean }>
> = {
  aws: {
    // A security group refuses what no rule allows.
    otherwise: false,
    rules: (spec) =>
      awsRules(spec)
        .filter(({ direction }) => direction === "ingress")
        .map(({ name, group, peer, protocol, ports: [first, last] = [0, 65_535] }) => ({
          name,
          to: group,
          from: "group" in peer ? [peer.group.replace(/^api-.*/, "balancer")] : machineGroups,
          protocol,
          ranges: [{ first, last }],
          allow: true,
        })),
  },
  azure: {
    // AllowVnetInBound, Azure's own last rule for traffic inside a network.
    otherwise: true,
    rules: (spec) =>
      [...azureRules(spec)]
        .sort((a, b) => a.priority - b.priority)
        .map(({ name, group, peer, protocol, ports, access }) => ({
          name,
          to: group,
          from: "group" in peer ? [peer.group] : "cidrs" in peer ? machineGroups : (tags[peer.tag] ?? []),
          protocol: protocol === "*" ? "all" : protocol.toLowerCase(),
          ranges: ports.map((text) => {
            const [first = 0, last = first] = text.split("-").map(Number);
            return text === "*" ? everyPort : { first, last };
          }),
          allow: access === "Allow",
        })),
  },
};

function refused(spec: ClusterSpec, rules: readonly Rule[]) {
  return wanted(spec)
    .filter(({ from, to, protocol, port }) => {
      const first = rules.find(
        (rule) =>
          rule.to === to &&
          rule.from.includes(from) &&
          (rule.protocol === "all" || rule.protocol === protocol) &&
          rule.ranges.some((range) => port >= range.first && port <= range.last),
      );
      return !(first?.allow ?? clouds[spec.cloud].otherwise);
    })
    .map(({ from, to, protocol, port, why }) => `${protocol} ${port} of ${to} from ${from}: ${why}`);
}

describe("ports", () => {
  for (const { title, spec } of combinations)
    it(`that machines ask of each other are open: ${title}`, () =>
      assert.deepEqual(refused(spec, clouds[spec.cloud].rules(spec)), []));

  for (const stack of ["aws-prod", "azure-prod"])
    it(`are open for a reason, and missed when they are not: ${stack}`, () => {
      const spec = specOfTitle(`${stack}, everything on`);
      const rules = clouds[spec.cloud].rules(spec);
      const named = rules.filter(({ allow, from }) => allow && from.length === 1);
      assert.ok(named.length > 10);
      for (const one of named) {
        assert.notDeepEqual(
          refused(
            spec,
            rules.filter((rule) => rule !== one),
          ),
          [],
          `${one.name} is needed by nobody`,
        );
      }
    });

  it("are open in the firewall of a Windows node as well, health checks of Services with externalTrafficPolicy Local among them", () => {
    const spec = specOfTitle("aws-dev, everything on");
    const objects = manifestsOf(spec);
    const opener = podSpec(manifest(objects, "DaemonSet", "windows-exporter"))?.initContainers?.[0]?.command?.join(" ");
    const exporter = { protocol: "TCP", port: String(/-LocalPort (\d+)/.exec(opener ?? "")?.[1]) };
    const open = [...firewallRules(spec.kubernetes.podNetwork), exporter].map(({ protocol, port }) => {
      const [first = 0, last = first] = String(port).split("-").map(Number);
      return { protocol: protocol.toLowerCase(), first, last };
    });
    const ofLinux = scraped(objects.filter(({ metadata }) => metadata.name === "node-exporter"));
    const linuxOnly = [...ofLinux, ...metrics(spec)].map(({ port }) => port);
    // HNS takes a NodePort's traffic before the firewall; a Service's health check comes at any port of that range.
    const needed = [
      ...wanted(spec).filter(({ to, port }) => to === "workers" && port < nodePorts.first && !linuxOnly.includes(port)),
      ...[healthPort(spec), nodePorts.first, nodePorts.last].map((port) => ({ protocol: "tcp", port })),
    ].map(({ protocol, port }) => ({ protocol, port }));
    const isOpen = ({ protocol, port }: (typeof needed)[number]) =>
      open.some((rule) => rule.protocol === protocol && port >= rule.first && port <= rule.last);
    assert.deepEqual(
      needed.filter((each) => !isOpen(each)),
      [],
    );
  });
});
