import { CheckFailure, CheckSkipped, expect } from "../../checks/check.ts";
import type { PodNetwork } from "../../components/model/podNetwork.ts";
import type { VerifyCheck, VerifyContext } from "../check.ts";
import { type ProbePod, probePort } from "../manifests.ts";
import type { NodeGroup } from "../nodes.ts";
import { type ProbeStart, reaches } from "../probe.ts";
import { answeredBy, from, hostname, probeAll, routes } from "./paths.ts";

/** Nodes reach the pods of a group. */
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

async function seen({ signal }: VerifyContext, start: ProbeStart, pods: readonly (ProbePod & { readonly ip: string })[]): Promise<string> {
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

/** Pods reach pods of the same node. */
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

/** Pods reach pods of another node. */
export function acrossHostsCheck(start: NodeGroup, target: NodeGroup, network: PodNetwork): VerifyCheck {
  return {
    id: `pod-to-pod/${start.id}->${target.id}`,
    title: `a pod of ${start.id} reaches pods of ${target.id} on other nodes`,
    ...(start.id === target.id && start.nodes.filter(({ cordoned }) => !cordoned).length < 2
      ? { skip: `${start.id} has only one node that takes pods` }
      : {}),
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
