import { tokenFacts } from "../../model/cloudFacts/tokens.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { accountKey, sampleAccount } from "../../model/workloadIdentity.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { placing } from "../guardRails/places.ts";
import { readPolicies } from "../guardRails/policies.ts";
import type { Manifest, Text } from "../manifest.ts";

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
