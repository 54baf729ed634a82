import { createHash } from "node:crypto";
import { accountKey, sampleAccount, tokenFacts } from "../../model/cloudFacts/identities.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { administratorsGroup, signInPrefix } from "../../model/keyLists.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { readPolicies } from "../guardRails/ownNode.ts";
import { placing } from "../guardRails/places.ts";
import { clusterBinding, type Manifest, type Text } from "../manifest.ts";
import { configMap } from "../workload.ts";

/** Variables of the pods of service accounts, by `namespace/name`. */
export type PodEnvironments = Readonly<Record<string, Readonly<Record<string, string>>>>;

export const identityFolders = {
  linux: "/var/run/secrets/fenestra.dev/identity",
  windows: "C:\\var\\run\\secrets\\fenestra.dev\\identity",
} as const;

/** The kubelet renews a token when 80 % are over. Clouds take no more than a day. */
export const identityTokenSeconds = 3600;

/** Service accounts whose pods get a token. */
function accounts({ serviceAccounts, sample }: NonNullable<ClusterSpec["workloadIdentity"]>) {
  return [...serviceAccounts, ...(sample ? [sampleAccount] : [])];
}

export const workloadIdentity: AddOnEntry = {
  name: "workload-identity",
  after: [],
  manifests: (spec, values) =>
    values.workloadIdentity === undefined ? [] : workloadIdentityManifests(spec, values.workloadIdentity.environments),
};

/**
 * A policy of the API server that gives pods of the named service accounts a token for the cloud and the variables by
 * which SDKs find it, as the clouds' webhooks do (aws/amazon-eks-pod-identity-webhook, Azure/azure-workload-identity),
 * without a program that could be down. A container's own variables stay.
 *
 * @param environments JSON of `PodEnvironments`
 */
export function workloadIdentityManifests(
  spec: Pick<ClusterSpec, "cloud" | "kubernetes" | "pools" | "windows" | "workloadIdentity">,
  environments: Text,
): readonly Manifest[] {
  const { workloadIdentity: settings, cloud } = spec;
  if (settings === undefined) return [];
  const named = accounts(settings);
  if (named.length === 0) return [];
  const { audience, fileVariable } = tokenFacts[cloud];
  const { cel, values } = placing(spec);
  return readPolicies(new URL("workloadIdentity.yaml", import.meta.url), {
    cel,
    values: {
      ...values,
      environments,
      accounts: named.map(accountKey),
      namespaces: [...new Set(named.map(({ namespace }) => namespace))],
      linuxFolder: identityFolders.linux,
      windowsFolder: JSON.stringify(identityFolders.windows).slice(1, -1),
      audience,
      fileVariable,
      seconds: identityTokenSeconds,
    },
  });
}

/** `PodEnvironments` in CEL, which JSON of texts is: lists, since a mapping has no order. */
export function environmentsExpression(environments: PodEnvironments): string {
  const lists = Object.entries(environments).map(([key, variables]) => [
    key,
    Object.entries(variables).map(([name, value]) => ({ name, value })),
  ]);
  return JSON.stringify(Object.fromEntries(lists));
}

export const signIn: AddOnEntry = { name: "sign-in", after: [], manifests: signInManifests };

/**
 * Binds the present generation of administrators, and each ClusterRole of `access.signIn[].roles` to its groups. The
 * role is part of a binding's name, since it cannot change.
 */
export function signInManifests({
  signIn,
  kubeconfigGeneration,
}: Pick<ClusterSpec, "signIn" | "kubeconfigGeneration">): readonly Manifest[] {
  return [
    clusterBinding("fenestra:administrators", "cluster-admin", [member(administratorsGroup(kubeconfigGeneration))]),
    ...signIn.flatMap((issuer) =>
      Object.entries(issuer.roles).map(([role, groups]) =>
        clusterBinding(
          `fenestra:sign-in:${issuer.name}:${nameOf(role)}`,
          role,
          groups.map((group) => member(`${signInPrefix(issuer)}${group}`)),
        ),
      ),
    ),
  ];
}

const member = (group: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: group });

/**
 * A role, or the digest of one that a path segment cannot hold (kubernetes/kubernetes, path.ValidatePathSegmentName).
 */
function nameOf(role: string): string {
  return /^[\w:.-]+$/.test(role) ? role : createHash("sha256").update(role).digest("hex").slice(0, 10);
}

/**
 * What the node controller reads live, in the form of components/nodeController/program/status.py. The program runs on
 * the control-plane machines, so that certificates do not wait for a pod; its settings are here, so that a change
 * replaces no machine.
 */
export const nodeController: AddOnEntry = {
  name: "node-controller",
  after: [],
  manifests: ({ repair: { notReadyAfter, joinWithin, maxUnhealthy, perHour } }) => [
    configMap(
      { name: "fenestra-node-controller", namespace: "kube-system" },
      {
        settings: JSON.stringify({
          notReadyAfter: notReadyAfter * 60,
          joinWithin: { linux: joinWithin.linux * 60, windows: joinWithin.windows * 60 },
          maxUnhealthy: maxUnhealthy / 100,
          perHour,
        }),
      },
    ),
  ],
};
