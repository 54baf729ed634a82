import type { V1Pod } from "@kubernetes/client-node";
import { CheckFailure } from "../checks/check.ts";
import { statusOf } from "../checks/cluster/api.ts";
import { podProblem } from "../checks/cluster/workloads.ts";
import { NotYet, until } from "../checks/poll.ts";
import { messageOf } from "../components/gates/messageOf.ts";
import type { ClusterApi } from "./api.ts";
import type { ExecResult, Execute } from "./exec.ts";
import { hostProbePodOf, type ProbePod, probePodManifest, probePodsOf, probeService, serviceName } from "./manifests.ts";
import type { NodeGroup } from "./nodes.ts";

export interface ReadyProbePod extends ProbePod {
  readonly ip: string;
}

interface ProbeService {
  readonly name: string;
  readonly clusterIp: string;
  readonly nodePort: number;
}

/** The pods of a run that answer and ask. Each group's are made when the first check needs them, and stay until the end. */
export class ProbePods {
  readonly #api: ClusterApi;
  readonly #namespace: string;
  readonly #execute: Execute;

  constructor(api: ClusterApi, namespace: string, execute: Execute) {
    this.#api = api;
    this.#namespace = namespace;
    this.#execute = execute;
  }

  /**
   * The group's probe pods when all are Ready. Throws CheckFailure with the reason of the first that is not, when the signal ends the
   * waiting.
   */
  async ready(group: NodeGroup, signal: AbortSignal): Promise<readonly ReadyProbePod[]> {
    const wanted = probePodsOf(group);
    if (wanted.length === 0) throw new CheckFailure(`every node of ${group.id} is cordoned`, "kubectl get nodes");
    await Promise.all(wanted.map((probePod) => this.#create(probePodManifest(probePod, group))));
    return await Promise.all(wanted.map((probePod) => this.#untilReady(probePod, signal)));
  }

  /** The probe pod in the network of the group's first node. */
  async host(group: NodeGroup, signal: AbortSignal): Promise<ReadyProbePod> {
    const probePod = hostProbePodOf(group);
    if (probePod === undefined) throw new CheckFailure(`every node of ${group.id} is cordoned`, "kubectl get nodes");
    await this.#create(probePodManifest(probePod, group));
    return await this.#untilReady(probePod, signal);
  }

  /** The Service in front of the group's probe pods, by cluster address and node port. */
  async service(group: NodeGroup): Promise<ProbeService> {
    const name = serviceName(group.id);
    const namespace = this.#namespace;
    await this.#api.core.createNamespacedService({ namespace, body: probeService(group.id, "NodePort") }).catch(unlessPresent);
    const { spec } = await this.#api.core.readNamespacedService({ namespace, name });
    const nodePort = spec?.ports?.[0]?.nodePort;
    if (spec?.clusterIP === undefined || nodePort === undefined)
      throw new CheckFailure(`Service ${name} has no cluster address or node port`, `kubectl -n ${namespace} get svc`);
    return { name, clusterIp: spec.clusterIP, nodePort };
  }

  async run(probePod: ProbePod, command: readonly string[]): Promise<ExecResult> {
    return await this.#execute(probePod.pod, command);
  }

  async #create(body: V1Pod): Promise<void> {
    await this.#api.core.createNamespacedPod({ namespace: this.#namespace, body }).catch(unlessPresent);
  }

  async #untilReady(probePod: ProbePod, signal: AbortSignal): Promise<ReadyProbePod> {
    const [namespace, name] = [this.#namespace, probePod.pod];
    return await until(
      `pod ${name} on node ${probePod.node} to be Ready`,
      { signal, lookAt: `kubectl -n ${namespace} describe pod ${name} (while verify runs), and the node ${probePod.node}` },
      async () => {
        const pod = await this.#api.core.readNamespacedPod({ namespace, name });
        const problem = podProblem(pod);
        if (problem !== undefined) throw new NotYet(problem);
        const ip = pod.status?.podIP;
        if (ip === undefined) throw new NotYet("it has no address");
        return { ...probePod, ip };
      },
    );
  }
}

function unlessPresent(error: unknown): void {
  if (statusOf(error) !== 409) throw new CheckFailure(`the API server refused the pod or Service: ${messageOf(error)}`);
}
