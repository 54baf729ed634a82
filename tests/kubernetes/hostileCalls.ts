import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { nodeWriters } from "../../components/kubernetes/guardRails/ownNode.ts";
import { type Manifest, podSpec } from "../../components/kubernetes/manifest.ts";
import { controlPlaneKey } from "../../components/model/pools.ts";

/** Names of the table for who writes: kubelets, and accounts whose tokens lie on a node, `worker-1` if none is named. */
const managers = ["kube-system:cloud-node-manager", "kube-system:cloud-node-manager-windows"];
const accounts = Object.keys(nodeWriters);
const names: Readonly<Record<string, readonly string[]>> = {
  all: [...accounts, "kubelet"],
  accounts,
  managers,
  flannel: ["kube-flannel:kube-flannel"],
  "flannel-windows": ["kube-flannel:kube-flannel-windows"],
  "flannel-windows on windows-1": ["kube-flannel:kube-flannel-windows on windows-1"],
};

/** A group with every right. */
export const writers = "test:writers";

/** The identity as impersonated. */
export function headersOf(who: string): Readonly<Record<string, string | string[]>> {
  if (who === "administrator") return {};
  if (who === "kubelet" || who === "control plane")
    return {
      "Impersonate-User": `system:node:${who === "kubelet" ? "worker-1" : "cp-0"}`,
      "Impersonate-Group": ["system:nodes", "system:authenticated"],
    };
  const [name = "", node = "worker-1"] = who.split(" on ");
  return {
    "Impersonate-User": `system:serviceaccount:${name}`,
    "Impersonate-Group": [writers, "system:authenticated"],
    "Impersonate-Extra-Authentication.kubernetes.io%2Fnode-name": node,
  };
}

const texts = z.array(z.string());
const objects = z.record(z.string(), z.unknown());
const text = z.string().optional();
const row = z.strictObject({
  lie: z.string().default(""),
  body: text,
  labels: text,
  annotations: text,
  mac: z.string().nullish(),
  mirror: z.strictObject({ name: z.string(), of: z.string(), labels: objects }).optional(),
  may: texts.default([]),
  tries: texts.optional(),
  reach: z.string().optional(),
});
const rowsByPath = z.record(z.string(), z.record(z.string(), row));
/** hostileCalls.yaml says what its parts are. */
const table = z
  .strictObject({ changed: rowsByPath, made: rowsByPath })
  .parse(parse(readFileSync(`${import.meta.dirname}/hostileCalls.yaml`, "utf8")));

export interface Call extends Pick<z.output<typeof row>, "lie" | "reach"> {
  readonly value: string;
  /** Below `/`. */
  readonly path: string;
  readonly method: "POST" | "PATCH";
  /** JSON; `UID_NAME` is that object's. */
  readonly body: string;
  readonly may: readonly string[];
  readonly tries: readonly string[];
}

const whoever = (list: readonly string[]) => [...new Set(list.flatMap((name) => names[name] ?? [name]))];

const mirrorPod = ({ name, of, labels }: NonNullable<z.output<typeof row>["mirror"]>) => ({
  metadata: {
    ...{ name, labels, annotations: { "kubernetes.io/config.mirror": "a", "kubernetes.io/config.source": "file" } },
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name: of, uid: `UID_${of}`, controller: true }],
  },
  spec: { nodeName: of, hostNetwork: true, containers: [{ name: "a", image: "a" }] },
});

function bodyOf({ body, mirror, mac, labels, annotations }: Partial<z.output<typeof row>>): unknown {
  if (mirror !== undefined) return mirrorPod(mirror);
  if (body !== undefined) return parse(body);
  if (labels !== undefined) return { metadata: { labels: parse(labels) } };
  if (annotations !== undefined) return { metadata: { annotations: parse(annotations) } };
  return { metadata: { annotations: { "flannel.alpha.coreos.com/backend-data": mac } } };
}

export const calls: readonly Call[] = (["changed", "made"] as const).flatMap((how) =>
  Object.entries(table[how]).flatMap(([path, rows]) =>
    Object.entries(rows).map(([value, { lie, reach, may, tries, ...rest }]) => ({
      ...{ value, lie, reach },
      path: path.startsWith("apis/") ? path : `api/v1/${path}`,
      method: how === "made" ? ("POST" as const) : ("PATCH" as const),
      body: JSON.stringify(bodyOf(rest)).replaceAll(/(\d+) bytes/g, (_, size) => "x".repeat(Number(size))),
      may: whoever(may),
      tries: whoever(tries ?? (path.startsWith("nodes/") ? ["all", ...may] : ["kubelet", "control plane"])),
    })),
  ),
);

/** What built-in roles that the program binds may write; ownNode.slow.test.ts reads them from a real API server. */
export const builtIn: Readonly<Record<string, readonly string[]>> = {
  "system:node-problem-detector": [
    "patch nodes/status",
    "create|patch|update events",
    "create|patch|update events.k8s.io/events",
  ],
  "system:node-proxier": ["create|patch|update events", "create|patch|update events.k8s.io/events"],
  "system:auth-delegator": [],
  "extension-apiserver-authentication-reader": [],
};

/** As far as it is read here. */
interface Rule {
  readonly apiGroups?: readonly unknown[] | undefined;
  readonly resources?: readonly unknown[] | undefined;
  readonly verbs: readonly unknown[];
}

/** What rules let somebody write, as `VERBS GROUP/RESOURCE`. Reviews change nothing. */
export function writesOf(rules: readonly Rule[]): readonly string[] {
  return rules.flatMap(({ apiGroups = [], resources = [], verbs }) => {
    const writes = verbs
      .map(String)
      .filter((verb) => !["get", "list", "watch"].includes(verb))
      .toSorted();
    const changed = resources.map(String).filter((resource) => !/reviews(\.|$)/.test(resource));
    if (writes.length === 0) return [];
    return apiGroups.flatMap((group) =>
      changed.map((resource) => `${writes.join("|")} ${group === "" ? "" : `${group}/`}${resource}`),
    );
  });
}

/** What each account, as NAMESPACE:NAME, of pods that may be on a worker may write. */
export function nodeSideWrites(objects: readonly Manifest[]): ReadonlyMap<string, readonly string[]> {
  const accounts = objects.flatMap((each) => {
    const pod = podSpec(each);
    if (pod === undefined || controlPlaneKey in (pod.nodeSelector ?? {})) return [];
    return [`${each.metadata.namespace ?? "default"}:${pod.serviceAccountName ?? "default"}`];
  });
  const writesOfRole = (kind: string, name: string, namespace: string | undefined) => {
    const role = objects.find(
      (each) => each.kind === kind && each.metadata.name === name && each.metadata.namespace === namespace,
    );
    if (role === undefined || (role.kind !== "ClusterRole" && role.kind !== "Role")) {
      const known = builtIn[name];
      if (known === undefined) throw new RangeError(`what ${kind} ${name} may write is not known here`);
      return known;
    }
    return writesOf(role.rules ?? []);
  };
  const found = [...new Set(accounts)].map((account): [string, readonly string[]] => {
    const rights = objects.flatMap((each) => {
      if (each.kind !== "ClusterRoleBinding" && each.kind !== "RoleBinding") return [];
      if (!each.subjects?.some(({ name, namespace }) => `${namespace}:${name}` === account)) return [];
      const { kind, name } = each.roleRef;
      return writesOfRole(String(kind), String(name), kind === "Role" ? String(each.metadata.namespace) : undefined);
    });
    return [account, [...new Set(rights)].toSorted()];
  });
  return new Map(found);
}
