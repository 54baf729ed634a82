import { KubeConfig } from "@kubernetes/client-node";
import { type Check, NotYet, needing, until } from "../../check/check.ts";
import { checkList } from "../../check/cluster/checkList.ts";
import { clusterApi } from "../../check/cluster/clusterApi.ts";
import { type NodeFacts, nodeFacts } from "../../check/cluster/nodes.ts";
import type { VerifyCheck, VerifyTools } from "../../check/cluster/probePods.ts";
import { clusterFacts, makeNamespace, removeNamespace, verifyTools } from "../../check/cluster/verify.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import { limitsMs } from "../host/command.ts";
import { poolRegistrationId } from "./bringUp.ts";
import type { ExpectedPool } from "./context.ts";

interface VerifyRun {
  readonly checks: readonly VerifyCheck[];
  readonly tools: VerifyTools;
  /** Takes the run's namespace away: it ends only while every registered API answers. */
  readonly end: Check;
}

/** Balancers and what is outside have no packets here. */
const asked = { loadBalancer: "none", outbound: undefined, sources: [] } as const;

/**
 * What `fenestra verify` asks of this cluster; what needs packets or workloads' containers is skipped there with the
 * reason. Readiness probes may still wait.
 */
export async function verifyRun(kubeconfig: string, pools: readonly ExpectedPool[]): Promise<VerifyRun> {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const api = clusterApi(config, config.getCurrentCluster()?.server ?? "");
  const facts = await clusterFacts(api, asked);
  const namespace = await makeNamespace(api);
  return {
    // Pods prove nothing where nodes lack their labels and taints.
    checks: needing(pools.map(poolRegistrationId), checkList({ ...facts, beforeProbes: true })),
    tools: verifyTools(api, namespace),
    end: {
      id: "namespace",
      title: "the namespace in which these checks worked goes with all that they made",
      limitMs: limitsMs.program,
      run: ({ signal }) =>
        // An API that has just come up is stale for a moment.
        until(`namespace ${namespace} to go`, { signal, limitMs: limitsMs.answer }, async () => {
          const { left } = await removeNamespace(api, namespace);
          if (left !== undefined) throw new NotYet(left);
        }),
    },
  };
}

const unseen: NodeFacts = { ...nodeFacts({}), os: "linux", simulated: true };

/** Ids of these checks, before there is a cluster. */
export function verifyIds(
  pools: readonly ExpectedPool[],
  { storage, volumeSnapshots: snapshots, smb, exporters: on, metricsServer: metricsApi }: StackConfig["addons"],
): readonly Pick<Check, "id">[] {
  const workers = pools.flatMap(({ count, os, build }) => (count > 0 ? { ...unseen, os, build } : []));
  const list = checkList({
    nodes: [{ ...unseen, controlPlane: true }, ...workers],
    ...{ wanted: { members: 1, pools: [] }, runtimeClasses: [], runtimeClassPolicy: true, metricsApi, snapshots },
    // No id has the driver's name.
    disks: storage ? { driver: "ebs.csi.aws.com", linux: undefined, windows: undefined } : undefined,
    ...{ shares: smb?.shares.map(({ name }) => name) ?? [], exporters: { linux: on, windows: on }, ...asked },
  });
  return [...list, { id: "namespace" }];
}
