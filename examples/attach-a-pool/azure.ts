import { Provider } from "@pulumi/azure-native/provider.js";
import { attachmentOutput } from "../../components/azure/attachment.ts";
import { Pool } from "../../components/azure/pool.ts";
import type { MayStart } from "../../components/gates/mayStart.ts";
import type { Attach } from "./attach.ts";

/** Pools on Azure, in the resource group of the cluster, where its controllers have their rights. */
export const attachAzure: Attach = ({ spec, pools }, output, api) => {
  const attachment = attachmentOutput.parse(output);
  const { subscriptionId } = attachment;
  const provider = new Provider(`${spec.name}-azure`, { location: spec.region, subscriptionId });
  // Loaded when a gate asks: the clients of the cloud are large.
  const mayStart: MayStart = async (...given) => (await import("../../preflight/start.ts")).startCheck(spec)(...given);
  return pools.map(
    (pool) =>
      new Pool(
        `${spec.name}-pool-${pool.name}`,
        // The cluster is there, and with it all that a machine needs to boot.
        { ...attachment, spec, pool, api, after: [], mayStart },
        { providers: { "azure-native": provider } },
      ),
  );
};
