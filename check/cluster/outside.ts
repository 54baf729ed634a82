import { CheckFailure, expect } from "../check.ts";
import { metadataQuestions } from "../facts.ts";
import type { NodeGroup } from "./nodes.ts";
import { answeredBy, from, hostname } from "./pods.ts";
import { type ProbeStart, reaches, staysSilent } from "./probe.ts";
import { probePort } from "./probePods.ts";
import type { VerifyCheck } from "./verifyCheck.ts";

/** A site that is asked when another does not answer by name: a resolver, whose address stays. */
const byAddress = "https://1.1.1.1/";

/** Whether a site answers, whatever its status, certificate and rights. */
async function answers(
  start: ProbeStart,
  url: string,
  options: { signal: AbortSignal; lookAt?: string; warmUpMs?: number },
): Promise<void> {
  const run: ProbeStart["run"] = (command) => start.run([...command, "-k", "-w", "\\n%{http_code}"]);
  const judge = (answer: string): string | undefined =>
    /[1-5]\d\d$/.test(answer) ? undefined : `no HTTP status in "${answer.slice(-100)}"`;
  await reaches({ ...start, run }, url, { ...options, judge });
}

/** @param warmUpMs for the first answer; default: of {@link reaches} */
export function outboundCheck(group: NodeGroup, url: string | undefined, warmUpMs?: number): VerifyCheck {
  return {
    id: `outbound/${group.id}`,
    title: `a pod of ${group.id} reaches ${url ?? "the outside"}`,
    ...(url === undefined ? { skip: "--outbound none" } : {}),
    run: async (context) => {
      const { probePods, signal } = context;
      const [asking] = await probePods.ready(group, signal);
      expect(asking !== undefined && url !== undefined, `there is no pod on ${group.id}`);
      const start = from(context, asking);
      const lookAt =
        "the NAT of the node's subnet, its route table and security group; on Windows the ExceptionList of OutBoundNAT";
      try {
        await answers(start, url, { signal, lookAt, ...(warmUpMs === undefined ? {} : { warmUpMs }) });
      } catch (error) {
        if (!(error instanceof CheckFailure) || signal.aborted) throw error;
        const other = await answers(start, byAddress, { signal, warmUpMs: 0 }).then(
          () => `${byAddress} does answer, so names or this one site are the trouble, not the way out`,
          () => `nor does ${byAddress}, which needs no name`,
        );
        throw new CheckFailure(`${error.message}; ${other}`, error.lookAt);
      }
    },
  };
}

/** No pod can act as its node. */
export function metadataCheck(group: NodeGroup): VerifyCheck {
  const cloud = group.nodes.find((node) => node.cloud !== undefined)?.cloud;
  return {
    id: `metadata/${group.id}`,
    title: `a pod of ${group.id} gets no answer from the cloud's metadata service`,
    ...(cloud === undefined ? { skip: "by their provider ids the nodes are neither on AWS nor on Azure" } : {}),
    run: async (context) => {
      const { probePods, signal } = context;
      const [asking, other] = await probePods.ready(group, signal);
      if (asking === undefined || other === undefined) throw new CheckFailure(`there are no two pods on ${group.id}`);
      const start = from(context, asking);
      const lookAt =
        "on Windows the ACL policies of the pod's endpoint (Get-HnsEndpoint); on AWS the hop limit of the instance; on Azure the FORWARD chain";
      // A pod that reaches nothing at all would pass.
      await reaches(start, hostname(other.ip, probePort), { signal, judge: answeredBy([other]), lookAt });
      const questions = cloud === undefined ? [] : metadataQuestions[cloud](group.os);
      for (const [url, options] of questions) await staysSilent(start, url, lookAt, options);
    },
  };
}
