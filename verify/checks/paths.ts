import type { PodNetwork } from "../../components/model/podNetwork.ts";
import type { VerifyContext } from "../check.ts";
import { closedPort, type ProbePod, probePort } from "../manifests.ts";
import type { NodeGroup } from "../nodes.ts";
import { type ProbeStart, reaches, staysSilent } from "../probe.ts";

/** A probe pod as the start of a probe. */
export function from({ probePods }: VerifyContext, probePod: ProbePod): ProbeStart {
  return {
    name: `${probePod.host ? "node" : "pod"} ${probePod.host ? probePod.node : probePod.pod}`,
    os: probePod.os,
    run: (command) => probePods.run(probePod, command),
  };
}

/** The pod that an answer names. Windows may shorten a host name to its NetBIOS length of 15. */
export function answering<Pod extends { readonly pod: string }>(pods: readonly Pod[], answer: string): Pod | undefined {
  const short = (name: string): string => name.toLowerCase().slice(0, 15);
  return pods.find(({ pod }) => short(pod) === short(answer));
}

/** Judges the name in the answer of a probe pod. */
export function answeredBy(pods: readonly { readonly pod: string }[]): (answer: string) => string | undefined {
  return (answer) =>
    answering(pods, answer) === undefined
      ? `the answer was "${answer.slice(0, 200)}", wanted the name of ${pods.map(({ pod }) => pod).join(" or ")}`
      : undefined;
}

/** URL at which a probe pod answers its name. */
export const hostname = (address: string, port: number): string => `http://${address}:${port}/hostname`;

/** What to look at when two nodes of these systems do not reach each other's pods. */
export function routes(groups: readonly NodeGroup[], { verify: { lookAt } }: PodNetwork): string {
  return groups.some(({ os }) => os === "windows") ? lookAt.windows : lookAt.linux;
}

/** Larger than the frames of any network: such a request is lost where the pods' network believes in larger ones than there are. */
const padding = "x".repeat(16_384);

/** Asks each of the pods by its address, also at length, and a port of it on which nothing listens. */
export async function probeAll(
  { signal }: VerifyContext,
  start: ProbeStart,
  targets: readonly (ProbePod & { readonly ip: string })[],
  lookAt: string,
): Promise<void> {
  for (const target of targets) {
    const url = hostname(target.ip, probePort);
    await reaches(start, url, { signal, judge: answeredBy([target]), lookAt });
    await reaches(start, `${url}?${padding}`, { signal, judge: answeredBy([target]), lookAt: `${lookAt}; the MTU of both nodes` });
    await staysSilent(start, hostname(target.ip, closedPort), lookAt);
  }
}

/** What to look at when a Service does not lead to its pods. */
export const kubeProxy =
  "kubectl -n kube-system get pods -o wide | grep kube-proxy, their logs; kubectl get endpointslices; on Windows: Get-HnsPolicyList";
