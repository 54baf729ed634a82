import { addonsSchema } from "../../components/config/addOnSchema.ts";
import { loadConfig } from "../../components/config/load.ts";
import { addOnOrder, type RenderedAddOn } from "../../components/kubernetes/addOnList.ts";
import { type Container, type Manifest, podSpec } from "../../components/kubernetes/manifest.ts";
import { roomOf } from "../../components/model/allocatable.ts";
import { awsEnvironment, azureEnvironment } from "../../components/model/cloudFacts/identities.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { type AddOns, addOns } from "../../components/model/nodeSettings.ts";
import { type PoolSpec, windowsBuilds } from "../../components/model/pools.ts";
import { podNetworkManifests } from "../../components/podNetworks/manifests.ts";
import { everyAddOn } from "../../rehearsal/run/everyAddOn.ts";
import { exampleSpec, stackConfig } from "../support/stacks.ts";

/** A certificate with which nothing is ever served. */
const certificate = {
  certificate: "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
  key: "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
  caBundle: Buffer.from("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n").toString("base64"),
};

/** Secrets with an account of an imagined domain. */
export const gmsaSecrets = {
  aws: "arn:aws:secretsmanager:eu-central-1:123456789012:secret:gmsa-web-AbCdEf",
  azure:
    "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/domain/providers/Microsoft.KeyVault/vaults/Domain-Vault/secrets/gmsa-web",
} as const;

/** Accounts of an imagined domain: one for nodes with the plug-in, one for nodes that have joined it. */
export function gmsa(cloud: ClusterSpec["cloud"]): NonNullable<AddOns["gmsa"]> {
  const domain = {
    dnsName: "corp.example.com",
    netBiosName: "CORP",
    sid: "S-1-5-21-2126449477-2524075714-3094792973",
    guid: "244818ae-87ac-4fcd-92ec-e79e5252348a",
  };
  return {
    credentialSpecs: [
      { name: "web", account: "web1", domain, secret: gmsaSecrets[cloud] },
      { name: "reports", account: "reports1", domain },
    ],
  };
}

/** An imagined file server. */
const smb: NonNullable<AddOns["smb"]> = {
  shares: [
    { name: "files", source: "//files.corp.example.com/pods", secret: "smb-pods", mountOptions: ["dir_mode=0777"] },
    { name: "archive", source: "//files.corp.example.com/archive/pods", secret: "smb-archive", mountOptions: [] },
  ],
};

/** Logs to the service of the cloud. */
export function logs(cloud: ClusterSpec["cloud"]): NonNullable<AddOns["logs"]> {
  const rule =
    "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/logs/providers/Microsoft.Insights/dataCollectionRules/cluster";
  const endpoint =
    "https://logs-1.westeurope-1.ingest.monitor.azure.com/datacollectionRules/dcr-1/streams/Microsoft-OTLP-Logs/otlp/v1/logs";
  return {
    ...(cloud === "aws"
      ? { cloudwatch: { retentionDays: 30 } }
      : { azureMonitor: { endpoint, dataCollectionRule: rule } }),
    windowsSecurity: true,
  };
}

/** The add-ons that a stack file's settings make. */
const decided = (addons: object): AddOns =>
  addOns({ ...loadConfig(stackConfig("aws-dev")), addons: addonsSchema.parse(addons) });

const everythingOn = (cloud: ClusterSpec["cloud"]): AddOns =>
  decided({ ...everyAddOn, smb, gmsa: gmsa(cloud), logs: logs(cloud) });

const everythingOff = decided(
  Object.fromEntries(
    Object.entries(addonsSchema.shape).map(([key, schema]) => [
      key,
      schema.safeParse(false).success ? false : undefined,
    ]),
  ),
);

interface Combination {
  readonly title: string;
  readonly spec: ClusterSpec;
}

/** Rights in the cloud of the sample alone. */
const workloadIdentity = { issuer: undefined, serviceAccounts: [], sample: true };

/** The cluster with other pools, and what is derived from them. */
export function withPools(spec: ClusterSpec, pools: readonly PoolSpec[]): ClusterSpec {
  return { ...spec, pools, windows: windowsBuilds(pools) };
}

/** The cluster without Windows pools. */
export function withoutWindows(spec: ClusterSpec) {
  return withPools(
    spec,
    spec.pools.filter((pool) => pool.os === "linux"),
  );
}

/** Every stack file in several combinations of switches; production differs in what it has beside add-ons. */
export const combinations: readonly Combination[] = (
  ["aws-dev", "aws-prod", "azure-dev", "azure-prod"] as const
).flatMap((stack) => {
  const spec = exampleSpec(stack);
  const full = spec.pools.map((pool) => (pool.os === "windows" ? { ...pool, hyperV: true, ccgPlugin: true } : pool));
  const both: readonly Combination[] = [
    { title: stack, spec },
    {
      title: `${stack}, everything on`,
      spec: {
        ...spec,
        kubernetes: { ...spec.kubernetes, networkPolicies: "linux" },
        pools: full,
        addons: everythingOn(spec.cloud),
        workloadIdentity,
      },
    },
  ];
  if (stack.endsWith("prod")) return both;
  return [
    ...both,
    { title: `${stack}, everything off`, spec: { ...spec, addons: everythingOff } },
    { title: `${stack}, samples alone`, spec: { ...spec, addons: { ...everythingOff, samples: true } } },
    {
      title: `${stack}, everything on, no Windows`,
      spec: { ...withoutWindows(spec), addons: everythingOn(spec.cloud) },
    },
    {
      title: `${stack}, one release of Windows`,
      spec: withPools(
        spec,
        spec.pools.filter((pool) => pool.os === "linux" || pool.release.name === spec.windows[0]?.name),
      ),
    },
  ];
});

/** The cluster of a combination. */
export function specOfTitle(title: string) {
  const found = combinations.find((each) => each.title === title);
  if (found === undefined) throw new RangeError(`there is no combination ${title}`);
  return found.spec;
}

/** Variables of the identity that writes logs. */
export function logEnvironment({ cloud, region }: Pick<ClusterSpec, "cloud" | "region">) {
  return cloud === "aws"
    ? awsEnvironment(region, "arn:aws:iam::123456789012:role/logs")
    : azureEnvironment("11111111-2222-3333-4444-555555555555", "66666666-7777-8888-9999-000000000000");
}

const plans = new WeakMap<ClusterSpec, readonly RenderedAddOn[]>();

/** A cluster's add-ons, with fakes for the cloud's outputs; made once for each object. */
export function planOf(spec: ClusterSpec) {
  const plan = plans.get(spec) ?? rendered(spec);
  plans.set(spec, plan);
  return plan;
}

function rendered(spec: ClusterSpec) {
  return addOnOrder(spec, {
    nodeEndpoint: "api.internal.test",
    podNetworkManifests,
    cloudConfig: spec.cloud === "azure" ? "{}" : undefined,
    gmsaCertificate: spec.addons.gmsa === undefined ? undefined : certificate,
    workloadIdentity:
      spec.workloadIdentity === undefined
        ? undefined
        : { environments: '{"fenestra-samples/object-reader": []}', sampleUrl: "https://objects.test/hello.txt" },
    logIdentity: logEnvironment(spec),
    gmsaObjectId: spec.cloud === "azure" ? "object-of-identity" : undefined,
  });
}

/** Every object of a cluster. */
export const manifestsOf = (spec: ClusterSpec): readonly Manifest[] =>
  planOf(spec).flatMap(({ manifests }) => manifests);

/** The one object of a kind with a name. */
export function manifest<Kind extends Manifest["kind"]>(
  manifests: readonly Manifest[],
  kind: Kind,
  name: string,
): Extract<Manifest, { kind: Kind }> {
  const isKind = (each: Manifest): each is Extract<Manifest, { kind: Kind }> => each.kind === kind;
  const found = manifests.filter(isKind).filter((each) => each.metadata.name === name);
  const [only] = found;
  if (only === undefined || found.length > 1) throw new Error(`${found.length} objects ${kind} ${name}`);
  return only;
}

/** Whom roles are bound to. */
export const subjectsOf = (manifests: readonly Manifest[]) =>
  manifests.flatMap((each) =>
    each.kind === "ClusterRoleBinding" || each.kind === "RoleBinding" ? (each.subjects ?? []) : [],
  );

/** A workload's containers, none of what is none. */
export function containersOf(workload: Manifest): readonly Container[] {
  const { initContainers = [], containers = [] } = podSpec(workload) ?? {};
  return [...initContainers, ...containers];
}

/** A container's command and arguments. */
export function argsOf(workload: Manifest, container: string): readonly string[] {
  const found = containersOf(workload).find(({ name }) => name === container);
  if (found === undefined) throw new Error(`no container ${container}`);
  return [...(found.command ?? []), ...(found.args ?? [])].map(String);
}

/** What a pool's node has left beside all agents and samples of its build. */
export function leastRoom(spec: ClusterSpec, pool: PoolSpec) {
  const all = manifestsOf(spec);
  const least = new Map(
    all.flatMap((each) =>
      each.kind === "HorizontalPodAutoscaler"
        ? [[String(each.spec?.scaleTargetRef.name), each.spec?.minReplicas ?? 1] as const]
        : [],
    ),
  );
  const pods = all.flatMap((each) => {
    const pod = podSpec(each);
    if (pod === undefined) return [];
    const count = each.kind === "Deployment" ? (each.spec?.replicas ?? least.get(each.metadata.name) ?? 1) : 1;
    const { runtimeClassName: own } = pod;
    const build = own === undefined ? pod.nodeSelector : own === pool.release.name ? {} : { no: "node" };
    return Array.from({ length: count }, () => ({ ...pod, nodeSelector: build }));
  });
  return roomOf(pool, pods);
}
