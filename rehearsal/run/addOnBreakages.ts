import { z } from "zod";
import type { KubernetesObject } from "../api/apply.ts";
import { programOf } from "../programs/addOns.ts";

type Change = (object: KubernetesObject) => KubernetesObject;

/** Programs of the cloud, for some of which nodes wait, as other programs for nodes. */
const isOfCloud = (name: string): boolean => name.startsWith("cloud-");

const workload = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        containers: z.array(z.looseObject({ image: z.string(), args: z.array(z.string()).optional() })),
      }),
    }),
  }),
});

/** Gives each container of the cloud's programs, or of all others, a flag that no program has. */
export function withUnknownFlag(ofCloud: boolean): Change {
  return (object) => {
    const { data } = workload.safeParse(object);
    if (data === undefined || isOfCloud(data.metadata.name) !== ofCloud) return object;
    for (const container of data.spec.template.spec.containers)
      if (programOf(container.image) !== undefined) container.args = [...(container.args ?? []), "--no-such-flag"];
    return data;
  };
}

const binding = z.looseObject({
  kind: z.literal("ClusterRoleBinding"),
  subjects: z.array(z.looseObject({ kind: z.literal("ServiceAccount"), name: z.string() })).length(1),
});

/** Takes the rights in the cluster from the accounts of the cloud's programs, or of all others but our own. */
export function withoutRights(ofCloud: boolean): Change {
  return (object) => {
    const { data } = binding.safeParse(object);
    const [account] = data?.subjects ?? [];
    if (account === undefined || isOfCloud(account.name) !== ofCloud || account.name.startsWith("fenestra"))
      return object;
    return { ...object, subjects: [] };
  };
}
