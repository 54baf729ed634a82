import { get } from "node:http";
import { CheckFailure, CheckSkipped, expect, NotYet, until } from "../check.ts";
import { metadataQuestions } from "../facts.ts";
import type { NodeGroup } from "./nodes.ts";
import { answeredBy, answering, from, hostname, kubeProxy } from "./pods.ts";
import { curl, type ProbeStart, reaches, staysSilent } from "./probe.ts";
import {
  type BalancerKind,
  closedPort,
  probePort,
  probeService,
  type ReadyProbePod,
  serviceName,
  servicePort,
  type VerifyCheck,
} from "./probePods.ts";

export function serviceIpCheck(start: NodeGroup, target: NodeGroup, source: "pod" | "node"): VerifyCheck {
  // Windows row: host-services. kubernetes.io, "Networking on Windows": only pods, not hosts, reach addresses of Services scheduled on them.
  const windowsHost = source === "node" && start.os === "windows";
  return {
    id: `service-ip-from-${source}/${start.id}->${target.id}`,
    title: `a ${source} of ${start.id} reaches pods of ${target.id} by their Service's cluster address`,
    ...(windowsHost && {
      skip: "a limit of Windows that upstream documents: only pods reach Service addresses there, not the node itself",
    }),
    run: async (context) => {
      const { probePods, signal } = context;
      const asking =
        source === "node" ? await probePods.host(start, signal) : (await probePods.ready(start, signal))[0];
      expect(asking !== undefined, `there is no pod on ${start.id}`);
      const pods = await probePods.ready(target, signal);
      const { clusterIp } = await probePods.service(target);
      await reaches(from(context, asking), hostname(clusterIp, servicePort), {
        signal,
        judge: answeredBy(pods),
        lookAt: kubeProxy,
      });
      await staysSilent(from(context, asking), hostname(clusterIp, closedPort), kubeProxy);
    },
  };
}

/** The Service by which pods find the API. */
const apiService = "https://kubernetes.default.svc.cluster.local/readyz";

export function apiFromPodCheck(group: NodeGroup): VerifyCheck {
  return {
    id: `api-from-pod/${group.id}`,
    title: `a pod of ${group.id} reaches the API server by the Service kubernetes.default`,
    run: async (context) => {
      const { probePods, signal } = context;
      const [asking] = await probePods.ready(group, signal);
      expect(asking !== undefined, `there is no pod on ${group.id}`);
      const start = from(context, asking);
      // Certificates and rights do not matter here.
      const run: typeof start.run = (command) => start.run([...command, "-k"]);
      await reaches({ ...start, run }, apiService, {
        signal,
        judge: (answer) =>
          /^ok$|"kind": ?"Status"/m.test(answer)
            ? undefined
            : `the answer is no API server's: "${answer.slice(0, 200)}"`,
        lookAt: `kubectl get endpointslices kubernetes; ${kubeProxy}`,
      });
    },
  };
}

/**
 * Windows appends the suffix of the pod's namespace alone, so `name.namespace` is not found (kubernetes.io: "DNS for
 * Services and Pods", DNS resolution on Windows nodes). Windows row: short-names.
 */
export function serviceNames(os: NodeGroup["os"], name: string, namespace: string): readonly string[] {
  return [name, ...(os === "windows" ? [] : [`${name}.${namespace}`]), `${name}.${namespace}.svc.cluster.local`];
}

/**
 * What is wrong with curl's exit code for a name that is not there: 6 is unresolved, as it should be; 28 may be a
 * packet lost on the way and is asked again (curl(1), "EXIT CODES"); anything else means that the name was found.
 */
export function unknownNameProblem(code: number): { readonly final: boolean; readonly text: string } | undefined {
  if (code === 6) return undefined;
  const text = `a name that is not there gave exit code ${code} of curl, wanted 6`;
  return code === 28 ? { final: false, text } : { final: true, text: `${text}: something answers for every name` };
}

export function dnsCheck(group: NodeGroup): VerifyCheck {
  return {
    id: `dns/${group.id}`,
    title: `a pod of ${group.id} finds a Service by its short and by its full DNS name, and no Service by a name that is not there`,
    run: async (context) => {
      const { probePods, signal, namespace } = context;
      const pods = await probePods.ready(group, signal);
      const [asking] = pods;
      expect(asking !== undefined, `there is no pod on ${group.id}`);
      const { name } = await probePods.service(group);
      const lookAt =
        "kubectl -n kube-system logs -l k8s-app=kube-dns; in the pod: cat /etc/resolv.conf, on Windows Get-DnsClientServerAddress";
      const start = from(context, asking);
      for (const known of serviceNames(group.os, name, namespace))
        await reaches(start, hostname(known, servicePort), { signal, judge: answeredBy(pods), lookAt });
      const unknown = hostname(`missing.${namespace}.svc.cluster.local`, servicePort);
      await until("curl to say that there is no such name", { signal, intervalMs: 2_000, lookAt }, async () => {
        const { code } = await start.run(curl(start.os, unknown));
        const problem = unknownNameProblem(code);
        if (problem?.final === true) throw new CheckFailure(problem.text, lookAt);
        if (problem !== undefined) throw new NotYet(problem.text);
      });
    },
  };
}

/** @param askers a group asks none of its own nodes */
export function nodePortCheck(group: NodeGroup, askers: readonly NodeGroup[]): VerifyCheck {
  const others = askers.filter(({ id }) => id !== group.id);
  const skip = "there is no node of another group to ask from";
  return {
    id: `node-port/${group.id}`,
    title: `what comes in at a NodePort of the nodes of ${group.id} gets to a pod`,
    ...(others.length === 0 && { skip }),
    run: async (context) => {
      const { probePods, signal, note } = context;
      if (others.length === 0) throw new CheckSkipped(skip);
      const pods = await probePods.ready(group, signal);
      const { nodePort } = await probePods.service(group);
      const targets = group.nodes.filter(({ ready }) => ready).slice(0, 2);
      expect(targets.length > 0, `no node of ${group.id} is Ready`, "kubectl get nodes");
      const starts: string[] = [];
      for (const asker of others) {
        const start = await probePods.host(asker, signal);
        for (const { internalIp, name } of targets) {
          expect(internalIp !== undefined, `node ${name} has no address`, `kubectl describe node ${name}`);
          await reaches(from(context, start), hostname(internalIp, nodePort), {
            signal,
            judge: answeredBy(pods),
            lookAt: `${kubeProxy}; and the firewall between the nodes for port ${nodePort}`,
          });
        }
        starts.push(start.node);
      }
      note(`asked from ${starts.join(" and ")}: ${targets.map(({ name }) => name).join(", ")}`);
    },
  };
}

/** Good answers in a row that end the waiting. */
const steadyAnswers = 20;

/**
 * Collects answers until pods of each node have answered, and the last twenty were good: before, a node may be left
 * out, or an unhealthy one in.
 *
 * @returns takes an answer and throws {@link NotYet} until then
 */
export function steadiness(pods: readonly Pick<ReadyProbePod, "pod" | "node">[]): (answer: string) => void {
  const waiting = new Set(pods.map(({ node }) => node));
  let row = 0;
  return (answer) => {
    const pod = answering(pods, answer);
    row = pod === undefined ? 0 : row + 1;
    if (pod === undefined) throw new NotYet(answeredBy(pods)(answer));
    waiting.delete(pod.node);
    if (waiting.size > 0) throw new NotYet(`no pod on ${[...waiting].join(", ")} has answered`);
    if (row < steadyAnswers) throw new NotYet(`${row} good answers in a row, wanted ${steadyAnswers}`);
  };
}

/** Over a new connection: a balancer gives all requests of one to the same pod. */
async function ask(url: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = get(url, { agent: false, signal: AbortSignal.timeout(10_000) }, (response) => {
    response.setEncoding("utf8");
    let body = "";
    response.on("data", (chunk: string) => {
      body += chunk;
    });
    response.on("error", reject);
    response.on("end", () => resolve(response.statusCode === 200 ? body.trim() : `HTTP ${response.statusCode}`));
  });
  request.on("error", reject);
  return await promise;
}

/**
 * @param asker its node asks an internal one: none of its nodes is behind it, as what a balancer sends back to the
 *   asking node may get lost. A public one is asked from where verify runs.
 */
export function loadBalancerCheck(
  group: NodeGroup,
  kind: BalancerKind,
  sources: readonly string[],
  asker: NodeGroup | undefined,
): VerifyCheck {
  const unasked = kind === "internal" && asker === undefined ? "there is no control-plane node" : undefined;
  const skip = kind === "none" ? "--load-balancer none" : unasked;
  return {
    id: `load-balancer/${group.id}`,
    title: `the cloud makes a load balancer (${kind}) for a Service of ${group.id}, and pods of every node answer through it, steadily`,
    ...(skip !== undefined && { skip }),
    run: async (context) => {
      const { api, probePods, signal, namespace, note } = context;
      const pods = await probePods.ready(group, signal);
      const start =
        kind === "internal" && asker !== undefined ? from(context, await probePods.host(asker, signal)) : undefined;
      const name = `${serviceName(group.id)}-lb`;
      const lookAt = `kubectl -n ${namespace} describe service ${name} (while verify runs); kubectl -n kube-system logs -l app.kubernetes.io/name=cloud-controller-manager`;
      await api.core.createNamespacedService({
        namespace,
        body: probeService(group.id, "LoadBalancer", kind, sources),
      });
      try {
        const address = await until(
          `the load balancer of Service ${name}`,
          { signal, intervalMs: 2_000, lookAt },
          async () => {
            const { status } = await api.core.readNamespacedService({ namespace, name });
            const [ingress] = status?.loadBalancer?.ingress ?? [];
            const found = ingress?.hostname ?? ingress?.ip;
            if (found === undefined) throw new NotYet("the cloud controller has given it no address");
            return found;
          },
        );
        const heard = steadiness(pods);
        const url = hostname(address, servicePort);
        const answer = async (): Promise<string> =>
          start === undefined ? await ask(url) : (await start.run(curl(start.os, url))).stdout.trim();
        await until(
          `steady answers of ${address}`,
          {
            signal,
            intervalMs: 250,
            lookAt: `${lookAt}; and whether ${start?.name ?? "this machine"} may reach ${address}`,
          },
          // A missing answer counts as a wrong one.
          async () => heard(await answer().catch((error: unknown) => String(error))),
        );
        note(address);
      } finally {
        // Others may reach it.
        await api.core.deleteNamespacedService({ namespace, name });
      }
    },
  };
}

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
    ...(url === undefined && { skip: "--outbound none" }),
    run: async (context) => {
      const { probePods, signal } = context;
      const [asking] = await probePods.ready(group, signal);
      expect(asking !== undefined && url !== undefined, `there is no pod on ${group.id}`);
      const start = from(context, asking);
      const lookAt =
        "the NAT of the node's subnet, its route table and security group; on Windows the ExceptionList of OutBoundNAT";
      try {
        await answers(start, url, { signal, lookAt, ...(warmUpMs !== undefined && { warmUpMs }) });
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
    ...(cloud === undefined && { skip: "by their provider ids the nodes are neither on AWS nor on Azure" }),
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
