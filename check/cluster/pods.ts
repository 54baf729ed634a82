import { messageOf } from "../../components/model/messages.ts";
import type { PodNetwork } from "../../components/model/podNetwork.ts";
import { CheckFailure, CheckSkipped, expect, NotYet, until } from "../check.ts";
import { ports } from "../facts.ts";
import type { NodeGroup } from "./nodes.ts";
import { type ProbeStart, reaches, staysSilent } from "./probe.ts";
import { closedPort, type ProbePod, probePort, type VerifyCheck, type VerifyContext } from "./probePods.ts";

export function from({ probePods }: VerifyContext, probePod: ProbePod): ProbeStart {
  return {
    name: `${probePod.host ? "node" : "pod"} ${probePod.host ? probePod.node : probePod.pod}`,
    os: probePod.os,
    run: (command) => probePods.run(probePod, command),
  };
}

/** Windows may shorten a host name to NetBIOS's 15 characters. Windows row: host-names. */
export function answering<Pod extends { readonly pod: string }>(pods: readonly Pod[], answer: string): Pod | undefined {
  const short = (name: string): string => name.toLowerCase().slice(0, 15);
  return pods.find(({ pod }) => short(pod) === short(answer));
}

export function answeredBy(pods: readonly { readonly pod: string }[]): (answer: string) => string | undefined {
  return (answer) =>
    answering(pods, answer) === undefined
      ? `the answer was "${answer.slice(0, 200)}", wanted the name of ${pods.map(({ pod }) => pod).join(" or ")}`
      : undefined;
}

/** URL at which a probe pod tells its name. */
export const hostname = (address: string, port: number): string => `http://${address}:${port}/hostname`;

/** What to look at when nodes of these systems do not reach each other's pods. */
function routes(groups: readonly NodeGroup[], { verify: { lookAt } }: PodNetwork): string {
  return groups.some(({ os }) => os === "windows") ? lookAt.windows : lookAt.linux;
}

/** Larger than any frame: lost where the pods' network believes in larger ones. */
const padding = "x".repeat(16_384);

/** Asks pods by their address, also at length, and on a port where nothing listens. */
async function probeAll(
  { signal }: VerifyContext,
  start: ProbeStart,
  targets: readonly (ProbePod & { readonly ip: string })[],
  lookAt: string,
): Promise<void> {
  for (const target of targets) {
    const url = hostname(target.ip, probePort);
    await reaches(start, url, { signal, judge: answeredBy([target]), lookAt });
    await reaches(start, `${url}?${padding}`, {
      signal,
      judge: answeredBy([target]),
      lookAt: `${lookAt}; the MTU of both nodes`,
    });
    await staysSilent(start, hostname(target.ip, closedPort), lookAt);
  }
}

/** What to look at when a Service does not lead to its pods. */
export const kubeProxy =
  "kubectl -n kube-system get pods -o wide | grep kube-proxy, their logs; kubectl get endpointslices; on Windows: Get-HnsPolicyList";

export function nodeToPodCheck(start: NodeGroup, target: NodeGroup, network: PodNetwork): VerifyCheck {
  const { verify } = network;
  return {
    id: `node-to-pod/${start.id}->${target.id}`,
    title: `a node of ${start.id} reaches pods of ${target.id} by their addresses`,
    run: async (context) => {
      const { probePods, signal, note } = context;
      const [host, pods] = [await probePods.host(start, signal), await probePods.ready(target, signal)];
      const begin = from(context, host);
      const own = pods.filter(({ node }) => node === host.node);
      const others = pods.filter(({ node }) => node !== host.node);
      const deaf = start.release !== undefined && !network.windows.hostReachesOwnPods(start.release);
      // Windows row: own-pods. Windows row: host-overlay.
      const limit = start.os === "windows" ? verify.windowsHostLimit : undefined;
      if (deaf && own.length > 0)
        note(`${start.id} cannot reach its own node's pods by address: HNS has no HostRoute policy before build 18321`);
      if (limit !== undefined && others.length > 0) note(`${limit}; ${await seen(context, begin, others)}`);
      const judged = [...(deaf ? [] : own), ...(limit !== undefined ? [] : others)];
      if (judged.length === 0) throw new CheckSkipped("nothing of it can be judged from this build");
      await probeAll(context, begin, judged, routes([start, target], network));
    },
  };
}

async function seen(
  { signal }: VerifyContext,
  start: ProbeStart,
  pods: readonly (ProbePod & { readonly ip: string })[],
): Promise<string> {
  const words: string[] = [];
  for (const target of pods) {
    const options = { signal, judge: answeredBy([target]), warmUpMs: 0 };
    const answered = await reaches(start, hostname(target.ip, probePort), options).then(
      () => true,
      (error: unknown) => {
        if (error instanceof CheckFailure) return false;
        throw error;
      },
    );
    words.push(`${target.pod} ${answered ? "answers" : "does not answer"}`);
  }
  return words.join(", ");
}

export function sameHostCheck(group: NodeGroup, network: PodNetwork): VerifyCheck {
  return {
    id: `pod-to-pod/${group.id} same host`,
    title: `a pod of ${group.id} reaches another pod of its own node`,
    run: async (context) => {
      const [a, b] = await context.probePods.ready(group, context.signal);
      expect(a !== undefined && b !== undefined, "there are not two pods on one node");
      await probeAll(context, from(context, a), [b], routes([group], network));
    },
  };
}

export function acrossHostsCheck(start: NodeGroup, target: NodeGroup, network: PodNetwork): VerifyCheck {
  return {
    id: `pod-to-pod/${start.id}->${target.id}`,
    title: `a pod of ${start.id} reaches pods of ${target.id} on other nodes`,
    ...(start.id === target.id &&
      start.nodes.filter(({ cordoned }) => !cordoned).length < 2 && {
        skip: `${start.id} has only one node that takes pods`,
      }),
    run: async (context) => {
      const { probePods, signal } = context;
      const [[start0], targets] = [await probePods.ready(start, signal), await probePods.ready(target, signal)];
      expect(start0 !== undefined, `there is no pod on ${start.id}`);
      const others = targets.filter(({ node }) => node !== start0.node);
      expect(others.length > 0, `all pods of ${target.id} are on the asking node`);
      await probeAll(context, from(context, start0), others, routes([start, target], network));
    },
  };
}

const kubelet = `kubectl get csr (the kubelet's serving certificate); and whether the control plane reaches port ${ports.kubelet} of the node`;

export function logsCheck(group: NodeGroup): VerifyCheck {
  return {
    id: `logs/${group.id}`,
    title: `kubectl logs shows what a container on each node of ${group.id} that was tried has written`,
    run: async ({ api, probePods, namespace, signal }) => {
      for (const { pod, node } of await probePods.ready(group, signal)) {
        await until(
          `the log of pod ${pod} on node ${node}`,
          { signal, intervalMs: 2_000, lookAt: kubelet },
          async () => {
            const log = await api.core.readNamespacedPodLog({ namespace, name: pod, container: "probe" });
            // The test image says so.
            if (!/^.*serving on port/i.test(log)) throw new NotYet(`it reads "${log.slice(0, 200)}"`);
          },
        );
      }
    },
  };
}

/** `kubectl exec` works, and reports exit codes. */
export function execCheck(group: NodeGroup): VerifyCheck {
  const shell = (line: string): readonly string[] =>
    group.os === "windows" ? ["cmd.exe", "/c", line] : ["sh", "-c", line];
  return {
    id: `exec/${group.id}`,
    title: `kubectl exec runs commands in containers on ${group.id} and reports their exit code`,
    run: async ({ probePods, signal }) => {
      for (const probePod of await probePods.ready(group, signal)) {
        const run = async (line: string) =>
          await probePods.run(probePod, shell(line)).catch((error: unknown) => {
            throw new CheckFailure(`node ${probePod.node}: ${messageOf(error)}`, kubelet);
          });
        const said = await run("echo fenestra");
        expect(
          said.code === 0 && said.stdout.trim() === "fenestra",
          `node ${probePod.node}: echo ended with ${said.code} and "${said.stdout.trim()}"`,
          kubelet,
        );
        const ended = await run("exit 7");
        expect(ended.code === 7, `node ${probePod.node}: a command that ends with 7 ended with ${ended.code}`, kubelet);
      }
    },
  };
}
