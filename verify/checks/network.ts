import { ports } from "../../components/model/ports.ts";
import { CheckFailure, CheckSkipped, expect, type VerifyCheck, type VerifyContext } from "../check.ts";
import { closedPort, type Station, serviceName, servicePort, stationPort, stationService } from "../manifests.ts";
import type { NodeFacts, NodeGroup } from "../nodes.ts";
import { NotYet, until } from "../poll.ts";
import { curl, type ProbeStart, reaches, staysSilent } from "../probe.ts";

/** A station as the start of a probe. */
function from({ stations }: VerifyContext, station: Station): ProbeStart {
  return {
    name: `${station.host ? "node" : "pod"} ${station.host ? station.node : station.pod}`,
    os: station.os,
    run: (command) => stations.run(station, command),
  };
}

/** Judges the name that a station answers. Windows may shorten a host name to its NetBIOS length of 15. */
function answeredBy(pods: readonly string[]): (answer: string) => string | undefined {
  const short = (name: string): string => name.toLowerCase().slice(0, 15);
  return (answer) =>
    pods.some((pod) => short(pod) === short(answer))
      ? undefined
      : `the answer was "${answer.slice(0, 200)}", wanted the name of ${pods.join(" or ")}`;
}

const hostname = (address: string, port: number): string => `http://${address}:${port}/hostname`;

/** What to look at when two nodes of these systems do not reach each other's pods. */
function routes(groups: readonly NodeGroup[]): string {
  return groups.some(({ os }) => os === "windows")
    ? `kubectl -n kube-flannel logs -l app.kubernetes.io/name=kube-flannel-windows; on the node: Get-HnsNetwork, Get-HnsEndpoint, and UDP ${ports.vxlan} between the nodes`
    : `kubectl -n kube-flannel get pods -o wide; on the node: ip route, bridge fdb show dev flannel.4096, and UDP ${ports.vxlan} between the nodes`;
}

/** Nodes reach the pods of a group. */
export function nodeToPodCheck(start: NodeGroup, target: NodeGroup): VerifyCheck {
  return {
    id: `node-to-pod/${start.id}->${target.id}`,
    title: `a node of ${start.id} reaches pods of ${target.id} by their addresses`,
    run: async (context) => {
      const { stations, signal, note } = context;
      const [host, pods] = [await stations.host(start, signal), await stations.ready(target, signal)];
      const deaf = start.release?.hostReachesOwnPods === false;
      const wanted = pods.filter(({ node }) => !(deaf && node === host.node));
      if (wanted.length < pods.length)
        note(`${start.id} cannot reach its own node's pods by address: HNS has no HostRoute policy before build 18321`);
      if (wanted.length === 0) throw new CheckSkipped("all pods are on the asking node, whose build cannot reach them");
      await probeAll(context, from(context, host), wanted, routes([start, target]));
    },
  };
}

async function probeAll(
  { signal }: VerifyContext,
  start: ProbeStart,
  targets: readonly (Station & { readonly ip: string })[],
  lookAt: string,
): Promise<void> {
  for (const target of targets) {
    await reaches(start, hostname(target.ip, stationPort), { signal, judge: answeredBy([target.pod]), lookAt });
    await staysSilent(start, hostname(target.ip, closedPort), lookAt);
  }
}

/** Pods reach pods of the same node. */
export function sameHostCheck(group: NodeGroup): VerifyCheck {
  return {
    id: `pod-to-pod/${group.id} same host`,
    title: `a pod of ${group.id} reaches another pod of its own node`,
    run: async (context) => {
      const [a, b] = await context.stations.ready(group, context.signal);
      expect(a !== undefined && b !== undefined, "there are not two pods on one node");
      await probeAll(context, from(context, a), [b], routes([group]));
    },
  };
}

/** Pods reach pods of another node. */
export function acrossHostsCheck(start: NodeGroup, target: NodeGroup): VerifyCheck {
  return {
    id: `pod-to-pod/${start.id}->${target.id}`,
    title: `a pod of ${start.id} reaches pods of ${target.id} on other nodes`,
    ...(start.id === target.id && start.nodes.filter(({ cordoned }) => !cordoned).length < 2
      ? { skip: `${start.id} has only one node that takes pods` }
      : {}),
    run: async (context) => {
      const { stations, signal } = context;
      const [[start0], targets] = [await stations.ready(start, signal), await stations.ready(target, signal)];
      expect(start0 !== undefined, `there is no pod on ${start.id}`);
      const others = targets.filter(({ node }) => node !== start0.node);
      await probeAll(context, from(context, start0), others, routes([start, target]));
    },
  };
}

const kubeProxy =
  "kubectl -n kube-system get pods -o wide | grep kube-proxy, their logs; kubectl get endpointslices; on Windows: Get-HnsPolicyList";

/** A Service's address leads to its pods, from a pod or from a node. */
export function serviceIpCheck(start: NodeGroup, target: NodeGroup, source: "pod" | "node"): VerifyCheck {
  // kubernetes.io, "Networking on Windows": hosts cannot reach the addresses of Services scheduled on them, only pods can.
  const windowsHost = source === "node" && start.os === "windows";
  return {
    id: `service-ip-from-${source}/${start.id}->${target.id}`,
    title: `a ${source} of ${start.id} reaches pods of ${target.id} by their Service's cluster address`,
    ...(windowsHost
      ? {
          skip: "a limit of Windows that upstream documents: only pods reach Service addresses there, not the node itself",
        }
      : {}),
    run: async (context) => {
      const { stations, signal } = context;
      const asking = source === "node" ? await stations.host(start, signal) : (await stations.ready(start, signal))[0];
      expect(asking !== undefined, `there is no pod on ${start.id}`);
      const pods = await stations.ready(target, signal);
      const { clusterIp } = await stations.service(target);
      await reaches(from(context, asking), hostname(clusterIp, servicePort), {
        signal,
        judge: answeredBy(pods.map(({ pod }) => pod)),
        lookAt: kubeProxy,
      });
      await staysSilent(from(context, asking), hostname(clusterIp, closedPort), kubeProxy);
    },
  };
}

/**
 * Names by which a pod finds a Service of its namespace. Windows appends the one suffix of the pod's namespace only, so a name with the
 * namespace and nothing more is not found there (kubernetes.io: "DNS for Services and Pods", DNS resolution on Windows nodes).
 */
export function serviceNames(os: NodeGroup["os"], name: string, namespace: string): readonly string[] {
  return [name, ...(os === "windows" ? [] : [`${name}.${namespace}`]), `${name}.${namespace}.svc.cluster.local`];
}

/**
 * What is wrong with curl's exit code for a name that is not there. 6 says that the name could not be resolved; 28 may be a lost packet to
 * the DNS server, so it is asked again (curl(1), "EXIT CODES"). Anything else means that the name was found.
 */
export function unknownNameProblem(code: number): { readonly final: boolean; readonly text: string } | undefined {
  if (code === 6) return undefined;
  const text = `a name that is not there gave exit code ${code} of curl, wanted 6`;
  return code === 28 ? { final: false, text } : { final: true, text: `${text}: something answers for every name` };
}

/** Services are found by name. */
export function dnsCheck(group: NodeGroup): VerifyCheck {
  return {
    id: `dns/${group.id}`,
    title: `a pod of ${group.id} finds a Service by its short and by its full DNS name, and no Service by a name that is not there`,
    run: async (context) => {
      const { stations, signal, namespace } = context;
      const pods = await stations.ready(group, signal);
      const [asking] = pods;
      expect(asking !== undefined, `there is no pod on ${group.id}`);
      const { name } = await stations.service(group);
      const lookAt =
        "kubectl -n kube-system logs -l k8s-app=kube-dns; in the pod: cat /etc/resolv.conf, on Windows Get-DnsClientServerAddress";
      const start = from(context, asking);
      for (const known of serviceNames(group.os, name, namespace)) {
        await reaches(start, hostname(known, servicePort), {
          signal,
          judge: answeredBy(pods.map(({ pod }) => pod)),
          lookAt,
        });
      }
      const unknown = hostname(`missing.${namespace}.svc.cluster.local`, servicePort);
      await until(
        "curl to say that there is no such name",
        async () => {
          const { code } = await start.run(curl(start.os, unknown));
          const problem = unknownNameProblem(code);
          if (problem?.final === true) throw new CheckFailure(problem.text, lookAt);
          if (problem !== undefined) throw new NotYet(problem.text);
        },
        { signal, intervalMs: 2_000, lookAt },
      );
    },
  };
}

/** Nodes of a group hand what comes in at a NodePort to pods. */
export function nodePortCheck(group: NodeGroup, askingGroups: readonly NodeGroup[]): VerifyCheck {
  const asking = askingGroups.find(({ nodes }) =>
    nodes.some((node) => group.nodes.every(({ name }) => name !== node.name)),
  );
  return {
    id: `node-port/${group.id}`,
    title: `what comes in at a NodePort of the nodes of ${group.id} gets to a pod`,
    ...(asking === undefined ? { skip: "there is no node of another group to ask from" } : {}),
    run: async (context) => {
      const { stations, signal, note } = context;
      if (asking === undefined) throw new CheckSkipped("there is no node of another group to ask from");
      const start = await stations.host(asking, signal);
      const pods = await stations.ready(group, signal);
      const { nodePort } = await stations.service(group);
      const targets = group.nodes.filter(({ ready }) => ready).slice(0, 2);
      for (const { internalIp, name } of targets) {
        expect(internalIp !== undefined, `node ${name} has no address`, `kubectl describe node ${name}`);
        await reaches(from(context, start), hostname(internalIp, nodePort), {
          signal,
          judge: answeredBy(pods.map(({ pod }) => pod)),
          lookAt: `${kubeProxy}; and the firewall between the nodes for port ${nodePort}`,
        });
      }
      note(`asked from node ${start.node}: ${targets.map(({ name }) => name).join(", ")}`);
    },
  };
}

/** A load balancer of the cloud leads to pods; asked from where verify runs. */
export function loadBalancerCheck(group: NodeGroup): VerifyCheck {
  return {
    id: `load-balancer/${group.id}`,
    title: `the cloud makes a load balancer for a Service of ${group.id}, and it answers where verify runs`,
    run: async (context) => {
      const { api, stations, signal, namespace, note } = context;
      const pods = await stations.ready(group, signal);
      const body = stationService(group.id, "LoadBalancer");
      const name = `${serviceName(group.id)}-lb`;
      await api.core.createNamespacedService({ namespace, body });
      const lookAt = `kubectl -n ${namespace} describe service ${name} (while verify runs); kubectl -n kube-system logs -l app.kubernetes.io/name=cloud-controller-manager`;
      const address = await until(
        `the load balancer of Service ${name}`,
        async () => {
          const { status } = await api.core.readNamespacedService({ namespace, name });
          const [ingress] = status?.loadBalancer?.ingress ?? [];
          const found = ingress?.hostname ?? ingress?.ip;
          if (found === undefined) throw new NotYet("the cloud controller has given it no address");
          return found;
        },
        { signal, intervalMs: 2_000, lookAt },
      );
      const judge = answeredBy(pods.map(({ pod }) => pod));
      await until(
        `an answer of ${address}`,
        async () => {
          const answer = await fetch(hostname(address, servicePort), { signal: AbortSignal.timeout(10_000) });
          const wrong = answer.ok ? judge((await answer.text()).trim()) : `HTTP ${answer.status}`;
          if (wrong !== undefined) throw new NotYet(wrong);
        },
        { signal, intervalMs: 3_000, lookAt: `${lookAt}; and whether this machine may reach ${address}` },
      );
      note(address);
      await api.core.deleteNamespacedService({ namespace, name });
    },
  };
}

/** Pods reach the world. */
export function outboundCheck(group: NodeGroup, url: string | undefined): VerifyCheck {
  return {
    id: `outbound/${group.id}`,
    title: `a pod of ${group.id} reaches ${url ?? "the outside"}`,
    ...(url === undefined ? { skip: "--outbound none" } : {}),
    run: async (context) => {
      const { stations, signal } = context;
      const [asking] = await stations.ready(group, signal);
      expect(asking !== undefined && url !== undefined, `there is no pod on ${group.id}`);
      const start = from(context, asking);
      // Whatever the status: that somebody answered is what counts. Certificates are not the matter here.
      const run: ProbeStart["run"] = (command) => start.run([...command, "-k", "-w", "\\n%{http_code}"]);
      await reaches({ ...start, run }, url, {
        signal,
        judge: (answer) => (/[1-5]\d\d$/.test(answer) ? undefined : `no HTTP status in "${answer.slice(-100)}"`),
        lookAt:
          "the NAT of the node's subnet, its route table and security group; on Windows the ExceptionList of OutBoundNAT",
      });
    },
  };
}

/** What a pod must not get an answer from, by cloud. A token may be asked for by PUT only, and it is the key to everything else on AWS. */
export function metadataTargets(
  cloud: NodeFacts["cloud"],
  os: NodeGroup["os"],
): readonly (readonly [url: string, options: readonly string[]])[] {
  if (cloud === "aws")
    return [
      ["http://169.254.169.254/latest/api/token", ["-X", "PUT", "-H", "X-aws-ec2-metadata-token-ttl-seconds: 60"]],
    ];
  const instance = [
    "http://169.254.169.254/metadata/instance?api-version=2021-02-01",
    ["-H", "Metadata: true"],
  ] as const;
  return os === "windows"
    ? [instance, ["http://168.63.129.16/?comp=versions", []], ["http://168.63.129.16:32526/status", []]]
    : [instance];
}

/** Pods cannot act as their node. */
export function metadataCheck(group: NodeGroup): VerifyCheck {
  const cloud = group.nodes.find((node) => node.cloud !== undefined)?.cloud;
  return {
    id: `metadata/${group.id}`,
    title: `a pod of ${group.id} gets no answer from the cloud's metadata service`,
    ...(cloud === undefined ? { skip: "by their provider ids the nodes are neither on AWS nor on Azure" } : {}),
    run: async (context) => {
      const { stations, signal } = context;
      const [asking, other] = await stations.ready(group, signal);
      if (asking === undefined || other === undefined) throw new CheckFailure(`there are no two pods on ${group.id}`);
      const start = from(context, asking);
      const lookAt =
        "on Windows the ACL policies of the pod's endpoint (Get-HnsEndpoint); on AWS the hop limit of the instance; on Azure the FORWARD chain";
      // A pod that reaches nothing at all would pass this check for the wrong reason.
      await reaches(start, hostname(other.ip, stationPort), { signal, judge: answeredBy([other.pod]), lookAt });
      for (const [url, options] of metadataTargets(cloud, group.os)) await staysSilent(start, url, lookAt, options);
    },
  };
}
