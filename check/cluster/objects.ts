import { z } from "zod";
import { CheckFailure } from "../check.ts";
import { ifFound } from "./clusterApi.ts";
import type { VerifyCheck } from "./probePods.ts";

/** Where the program lists what it has made (components/kubernetes/addOnList.ts). */
export const inventoryPage = { namespace: "kube-system", name: "fenestra-objects" } as const;

/** Made by kubeadm. */
const ofKubeadm = [
  "apps/v1 Deployment kube-system/coredns",
  "apps/v1 DaemonSet kube-system/kube-proxy",
  "v1 Service kube-system/kube-dns",
];

interface ObjectHeader {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const anyText = z.string().default("");
/** The library makes dates of what it knows as one. */
const instant = z.union([z.date().transform((date) => date.toISOString()), anyText]);
/** What is looked at in an object of any kind. */
const foundObject = z.looseObject({
  metadata: z.object({
    deletionTimestamp: z.union([z.date(), z.string()]).optional(),
    managedFields: z
      .array(
        z.object({
          ...{ manager: anyText, subresource: anyText, time: instant },
          fieldsV1: z.record(z.string(), z.unknown()).default({}),
        }),
      )
      .default([]),
  }),
  spec: z.looseObject({}).optional(),
  aggregationRule: z.unknown().optional(),
});
type FoundObject = z.output<typeof foundObject>;

/** Lists, of an object or its spec, without which an object of that kind does nothing. */
const wantedLists: Readonly<Record<string, readonly string[]>> = {
  RoleBinding: ["subjects"],
  ClusterRoleBinding: ["subjects"],
  Role: ["rules"],
  ClusterRole: ["rules"],
  ValidatingAdmissionPolicy: ["validations"],
  MutatingAdmissionPolicy: ["mutations"],
  ValidatingAdmissionPolicyBinding: ["validationActions"],
};

/**
 * What people have changed in an object, by kubectl's field managers (kubernetes: staging/src/k8s.io/kubectl/pkg/cmd,
 * `DefaultFieldManager...`). Labels, annotations and status are people's; a restart, another scale and an object that
 * was put back are no change.
 */
function byHand({ metadata }: FoundObject): readonly string[] {
  return metadata.managedFields.flatMap(({ manager, subresource, time, fieldsV1 }) => {
    const restored = ["kubectl-rollout", "kubectl-create"].includes(manager);
    if (!manager.startsWith("kubectl") || restored || subresource !== "") return [];
    const kept = ["f:metadata", "f:status"];
    const names = Object.keys(fieldsV1).filter((name) => !kept.includes(name));
    const changed = names.map((name) => name.replace(/^f:/, ""));
    return changed.length === 0 ? [] : [`${changed.join(", ")} by ${manager} at ${time}`];
  });
}

/** Objects that are missing, emptied, changed by hand, or scaled to nothing. */
export async function objectProblems(
  lines: readonly string[],
  read: (header: ObjectHeader) => Promise<unknown>,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const line of lines) {
    const [, apiVersion = "", kind = "", namespace = "", name = ""] = /^(\S+) (\S+) (\S*)\/(\S+)$/.exec(line) ?? [];
    const found = await read({ apiVersion, kind, metadata: { name, ...(namespace !== "" && { namespace }) } });
    if (found === undefined) problems.push(`${line} is missing`);
    else problems.push(...changesOf(foundObject.parse(found), kind).map((change) => `${line} ${change}`));
  }
  return problems;
}

/** What is wrong with an object that is there. */
function changesOf(found: FoundObject, kind: string): readonly string[] {
  const { metadata, spec, aggregationRule } = found;
  const wanted = aggregationRule === undefined ? (wantedLists[kind] ?? []) : [];
  return [
    ...(metadata.deletionTimestamp === undefined ? [] : ["is being deleted"]),
    ...(spec?.replicas === 0 ? ["is scaled to 0"] : []),
    ...wanted.filter((name) => !hasItems(found[name] ?? spec?.[name])).map((name) => `has no ${name}`),
    ...byHand(found).map((what) => `was changed: ${what}`),
  ];
}

const hasItems = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** Other checks see only what is there. */
export const objectsCheck: VerifyCheck = {
  id: "objects",
  title: "every object of the stack and of kubeadm is there as it was made, policies, bindings and agents included",
  run: async ({ api, note }) => {
    const objects =
      (await ifFound(api.core.readNamespacedConfigMap(inventoryPage)))?.data?.objects?.trim() || undefined;
    const lookAt = "docs/operations/incidents.md, Objects were changed by hand: pulumi up --refresh puts them back";
    if (objects === undefined)
      throw new CheckFailure(
        `there is no ConfigMap ${inventoryPage.namespace}/${inventoryPage.name} with its list, which an update writes`,
        lookAt,
      );
    const lines = [...ofKubeadm, ...objects.split("\n")];
    const problems = await objectProblems(lines, (header) => ifFound(api.objects.read(header)));
    if (problems.length > 0) throw new CheckFailure(problems.join("; "), lookAt);
    note(`${lines.length} objects`);
  },
};
