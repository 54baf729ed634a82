import { tokenFacts } from "../../model/cloudFacts/tokens.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { accountKey, sampleAccount } from "../../model/workloadIdentity.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { meansWindows } from "../guardRails/cel.ts";
import { mutationManifests, podsWhen } from "../guardRails/policy.ts";
import { text } from "../guardRails/texts.ts";
import type { Manifest, Text } from "../manifest.ts";

/** Variables of the pods of service accounts, by `namespace/name`. */
export type PodEnvironments = Readonly<Record<string, Readonly<Record<string, string>>>>;

const identityPolicyName = "fenestra-workload-identity";

const volume = "fenestra-identity";
export const identityFolders = {
  linux: "/var/run/secrets/fenestra.dev/identity",
  windows: "C:\\var\\run\\secrets\\fenestra.dev\\identity",
} as const;
const separators = { linux: "/", windows: "\\" } as const;

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
  const file = (os: keyof typeof identityFolders): string => text(`${identityFolders[os]}${separators[os]}token`);
  return mutationManifests({
    name: identityPolicyName,
    resourceRules: [podsWhen("CREATE")],
    conditions: {
      "has-an-identity": `(request.namespace + "/" + (has(object.spec.serviceAccountName) ? object.spec.serviceAccountName : "default")) in ${JSON.stringify(named.map(accountKey))}`,
      "has-no-token": `!has(object.spec.volumes) || !object.spec.volumes.exists(v, v.name == ${text(volume)})`,
    },
    variables: {
      environments,
      windows: meansWindows("object.spec", spec),
      env: `variables.environments[request.namespace + "/" + object.spec.serviceAccountName] + [{"name": ${text(fileVariable)}, "value": variables.windows ? ${file("windows")} : ${file("linux")}}]`,
      mount: `{"name": dyn(${text(volume)}), "mountPath": dyn(variables.windows ? ${text(identityFolders.windows)} : ${text(identityFolders.linux)}), "readOnly": dyn(true)}`,
      volume: `{"name": dyn(${text(volume)}), "projected": dyn({"sources": [{"serviceAccountToken": {"audience": dyn(${text(audience)}), "expirationSeconds": dyn(${identityTokenSeconds}), "path": dyn("token")}}]})}`,
    },
    // Containers that others add later come with their own variables, or without any.
    reinvocationPolicy: "Never",
    patches: [
      ...["containers", "initContainers"].map((list) => `(${intoContainers(list)})`),
      `(has(object.spec.volumes) ? [${add('"/spec/volumes/-"', "variables.volume")}] : [${add('"/spec/volumes"', "[variables.volume]")}])`,
    ].join(" + "),
    namespaces: [
      {
        key: "kubernetes.io/metadata.name",
        operator: "In",
        values: [...new Set(named.map(({ namespace }) => namespace))],
      },
    ],
  });
}

function add(path: string, value: string): string {
  return `JSONPatch{op: "add", path: ${path}, value: ${value}}`;
}

/** Patches of the containers in a list: the variables that they do not set themselves, and the mount. */
function intoContainers(list: string): string {
  const containers = `object.spec.${list}`;
  const own = `${containers}[i]`;
  const path = (field: string): string => `${text(`/spec/${list}/`)} + string(i) + ${text(`/${field}`)}`;
  const env = `has(${own}.env) ? variables.env.filter(e, !${own}.env.exists(x, x.name == e.name)).map(e, ${add(path("env/-"), "e")}) : [${add(path("env"), "variables.env")}]`;
  const mounts = `has(${own}.volumeMounts) ? [${add(path("volumeMounts/-"), "variables.mount")}] : [${add(path("volumeMounts"), "[variables.mount]")}]`;
  const patches = `lists.range(${containers}.size()).map(i, (${env}) + (${mounts})).flatten()`;
  return list === "initContainers" ? `has(${containers}) ? ${patches} : []` : patches;
}

/** `PodEnvironments` in CEL, which JSON of texts is: lists, since a mapping has no order. */
export function environmentsExpression(environments: PodEnvironments): string {
  const lists = Object.entries(environments).map(([key, variables]) => [
    key,
    Object.entries(variables).map(([name, value]) => ({ name, value })),
  ]);
  return JSON.stringify(Object.fromEntries(lists));
}
