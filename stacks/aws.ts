import { Provider, type ProviderArgs } from "@pulumi/aws/provider.js";
import type * as pulumi from "@pulumi/pulumi";
import { Cluster } from "../components/aws/cluster.ts";
import { stackGuard } from "../components/gates/controlPlane.ts";
import type { MayStart } from "../components/gates/startGate.ts";
import type { ClusterSpec } from "../components/model/clusterSpec.ts";
import { type ClusterOutputs, withInside } from "./outputs.ts";

function ignoredTags(names: readonly string[]): Pick<ProviderArgs, "ignoreTags"> {
  const [keyPrefixes = [], keys = []] = [true, false].map((begins) =>
    names.filter((name) => name.endsWith("*") === begins).map((name) => name.replace(/\*$/, "")),
  );
  return names.length === 0 ? {} : { ignoreTags: { keyPrefixes, keys } };
}

export function deployAws(spec: ClusterSpec, credentials?: pulumi.Output<string>, mayStart?: MayStart): ClusterOutputs {
  const guard = stackGuard(spec);
  const provider = new Provider(
    `${spec.name}-aws`,
    {
      region: spec.region,
      defaultTags: { tags: { ...spec.tags } },
      ...ignoredTags(spec.ignoreTags),
      ...(spec.accountId !== undefined && { allowedAccountIds: [spec.accountId] }),
    },
    // The guard checks the change before any cloud resource is touched, without a preview too.
    { dependsOn: [guard] },
  );
  const cluster = new Cluster(spec.name, { spec, credentials, mayStart }, { providers: { aws: provider } });
  return withInside(spec, cluster);
}
