import { parseArgs } from "node:util";
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { ClusterApi } from "../verify/api.ts";
import { greet } from "../verify/verify.ts";
import { type Command, exitCodes, UsageError } from "./exit.ts";
import { clusterOf } from "./kubeconfig.ts";
import { type FoundObject, type Inventory, leftovers } from "./uninstall/leftovers.ts";

const help = `Usage: fenestra uninstall --check --kubeconfig FILE

Lists what users of a cluster made themselves and pulumi destroy does not know of: Services of type LoadBalancer, claims and volumes, whose
load balancers and disks would be left in the cloud, and objects whose deletion hangs. Changes nothing; pulumi destroy is what removes a stack.

  --check            only look; the only mode there is
  --kubeconfig FILE  an administrator's kubeconfig; its current context is used

Exit code: 0 nothing would be left, 1 something would, or the cluster does not answer, 2 a mistake in the command line.
`;

/** `fenestra uninstall --check`. Exit code 1 when something would be left in the cloud. */
export const command: Command = {
  help,
  run: async (args, terminal) => {
    const { values } = parseArgs({
      args: [...args],
      options: { check: { type: "boolean", default: false }, kubeconfig: { type: "string" } },
    });
    if (!values.check) throw new UsageError("uninstall only looks: add --check. To remove a stack: pulumi destroy --stack NAME");
    if (values.kubeconfig === undefined) throw new UsageError("uninstall needs --kubeconfig FILE");
    const api = clusterOf(values.kubeconfig);
    if (await greet(api, terminal)) return exitCodes.findings;
    const left = leftovers(await inventory(api));
    for (const { object, problem, fix } of left) terminal.out(`${object}: ${problem}\n  ${fix}\n`);
    terminal.out(left.length === 0 ? "nothing would be left behind\n" : `${left.length} would be left behind\n`);
    return left.length === 0 ? exitCodes.fine : exitCodes.findings;
  },
};

/** Reads what may tie the cluster to resources of the cloud. */
async function inventory({ core }: ClusterApi): Promise<Inventory> {
  const [services, claims, volumes, namespaces] = await Promise.all([
    core.listServiceForAllNamespaces(),
    core.listPersistentVolumeClaimForAllNamespaces(),
    core.listPersistentVolume(),
    core.listNamespace(),
  ]);
  return {
    services: services.items
      .filter(({ spec }) => spec?.type === "LoadBalancer")
      .map(({ metadata, status }) => {
        const [ingress] = status?.loadBalancer?.ingress ?? [];
        return { ...found("Service", metadata), address: ingress?.hostname ?? ingress?.ip };
      }),
    claims: claims.items.map(({ metadata, spec }) => ({ ...found("PersistentVolumeClaim", metadata), volume: spec?.volumeName })),
    volumes: volumes.items.map(({ metadata, spec }) => ({
      ...found("PersistentVolume", metadata),
      reclaimPolicy: spec?.persistentVolumeReclaimPolicy ?? "Retain",
      handle: spec?.csi?.volumeHandle,
      claim: spec?.claimRef === undefined ? undefined : `${spec.claimRef.namespace}/${spec.claimRef.name}`,
    })),
    // An empty one that waits for an API that does not answer ties the cluster to nothing.
    namespaces: namespaces.items
      .filter(({ status }) => status?.conditions?.some(({ type, status: is }) => holdsContent.has(type) && is === "True"))
      .map(({ metadata }) => found("Namespace", metadata)),
  };
}

/** Conditions of a namespace that is being deleted while something in it does not go. */
const holdsContent: ReadonlySet<string> = new Set(["NamespaceContentRemaining", "NamespaceFinalizersRemaining"]);

function found(kind: string, metadata: V1ObjectMeta | undefined): FoundObject {
  return {
    kind,
    metadata: {
      name: metadata?.name ?? "",
      namespace: metadata?.namespace,
      labels: metadata?.labels ?? {},
      finalizers: metadata?.finalizers ?? [],
      managers: (metadata?.managedFields ?? []).map(({ manager }) => manager ?? ""),
      deleting: metadata?.deletionTimestamp !== undefined,
    },
  };
}
