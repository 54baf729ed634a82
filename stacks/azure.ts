import { Provider } from "@pulumi/azure-native/provider.js";
import * as pulumi from "@pulumi/pulumi";
import { Cluster } from "../components/azure/cluster.ts";
import { keepsOthers, type ReadResource } from "../components/azure/keepsOthers.ts";
import { stackGuard } from "../components/gates/controlPlane.ts";
import type { MayStart } from "../components/gates/startGate.ts";
import type { ClusterSpec } from "../components/model/clusterSpec.ts";
import { type ClusterOutputs, withInside } from "./outputs.ts";

/**
 * An update sends all tags of a resource; of ignored ones the engine sends the state's, where a refresh has put what
 * others added. The provider has no `ignoreTags`.
 */
const keepsTags =
  (names: readonly string[]): pulumi.ResourceTransformation =>
  ({ props, opts }) => {
    if (!("tags" in props)) return undefined;
    return { props, opts: pulumi.mergeOptions(opts, { ignoreChanges: names.map((name) => `tags["${name}"]`) }) };
  };

/** Loaded when a hook asks: the client is large. */
const read: ReadResource = async (...given) =>
  (await import("../components/gates/account/start.ts")).readResource(...given);

export function deployAzure(
  spec: ClusterSpec,
  credentials?: pulumi.Output<string>,
  mayStart?: MayStart,
): ClusterOutputs {
  // After the user's transforms: what one of them sends is not ignored.
  pulumi.runtime.registerStackTransformation(keepsOthers(`${spec.name}-others`, read));
  const guard = stackGuard(spec);
  const provider = new Provider(
    `${spec.name}-azure`,
    { location: spec.region, ...(spec.accountId !== undefined && { subscriptionId: spec.accountId }) },
    // The guard checks the change before any cloud resource is touched, without a preview too.
    { dependsOn: [guard] },
  );
  const cluster = new Cluster(
    spec.name,
    { spec, credentials, mayStart },
    {
      providers: { "azure-native": provider },
      transformations: spec.ignoreTags.length === 0 ? [] : [keepsTags(spec.ignoreTags)],
    },
  );
  return withInside(spec, cluster, { cloudConfig: cluster.cloudConfig, gmsaObjectId: cluster.gmsaObjectId });
}
