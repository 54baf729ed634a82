import { Provider } from "@pulumi/aws/provider.js";
import { attachmentOutput } from "../../components/aws/attachment.ts";
import { Pool, poolPayload } from "../../components/aws/pool.ts";
import { Scripts } from "../../components/aws/scripts.ts";
import { scriptsObject } from "../../components/machine/bundle.ts";
import type { Attach } from "./attach.ts";

/** Pools on AWS. Their scripts lie in a bucket of this program, which needs no right to the cluster's. */
export const attachAws: Attach = ({ spec, pools }, output, api) => {
  const attachment = attachmentOutput.parse(output);
  const provider = new Provider(`${spec.name}-aws`, {
    region: spec.region,
    allowedAccountIds: [attachment.accountId],
    defaultTags: { tags: { ...spec.tags } },
  });
  const options = { providers: { aws: provider } };
  const machines = pools.map((pool) => {
    const payload = poolPayload(spec, pool);
    return { pool, payload, object: scriptsObject(payload) };
  });
  const objects = machines.map(({ object }) => object);
  const scripts = new Scripts(`${spec.name}-attached-scripts`, { objects }, options);
  return machines.map(
    ({ pool, payload, object }) =>
      new Pool(
        `${spec.name}-pool-${pool.name}`,
        { ...attachment, spec, pool, api, payload, scripts: scripts.of(object), after: scripts.ready },
        options,
      ),
  );
};
