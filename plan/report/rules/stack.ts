import { exampleProblems } from "../../../components/config/exampleValues.ts";
import { workloadIdentityFindings } from "../../../components/kubernetes/addOns/workloadIdentity.ts";
import { guardRailFindings } from "../../../components/kubernetes/guardRails.ts";
import { cidr, overlaps } from "../../../components/model/cidr.ts";
import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import { windowsReleases } from "../../../components/model/operatingSystems.ts";
import type { PoolSpec } from "../../../components/model/pools.ts";
import { minorFacts } from "../../../components/model/releases.ts";
import { type Found, key, production, type Rule, worse } from "./rule.ts";

const windows = (pool: PoolSpec): boolean => pool.os === "windows";

/** `windows-2022 or windows-2025`. */
const supportedReleases = windowsReleases
  .flatMap(({ name, upstreamSupported }) => (upstreamSupported ? [name] : []))
  .join(" or ");

/**
 * Whether the machines outside the fullest zone are no majority of etcd's members. One machine has a finding for
 * itself.
 */
function oneZoneHoldsQuorum({ controlPlane, network }: ClusterSpec): boolean {
  const members = controlPlane.members.length;
  return members > 1 && members - Math.ceil(members / network.zones.length) <= members / 2;
}

export const stackRules: readonly Rule[] = [
  ({ encrypted }) =>
    encrypted.map((name) => ({
      id: "encrypted-value",
      level: "note",
      path: `config.${name}`,
      message: "The value is encrypted (secure): the plan has a fake in its place.",
      remedy: "Pulumi can decrypt it: pulumi preview shows what the real value does.",
    })),
  ({ spec }) =>
    guardRailFindings(spec).map((message) => ({
      id: "guard-rails-incomplete",
      level: "note",
      path: key("kubernetes.version"),
      message: `${message}.`,
      remedy: "Choose Kubernetes 1.36 or newer, or set runtimeClassName on every Windows pod.",
    })),
  ({ spec }) =>
    (spec.publicAccess ?? [])
      .filter((network) => network.endsWith("/0"))
      .map((network) => ({
        id: "public-api-open",
        level: "error",
        path: key("access.public.allow"),
        message: `The Kubernetes API is reachable from the whole internet (${network}).`,
        remedy: "List the networks of your offices, runners and VPNs.",
      })),
  ({ spec }) =>
    exampleProblems(spec).map(({ path, value, message, allowed }) => ({
      id: "example-value",
      level: "warning",
      path,
      message: `${String(value)} ${message}. The first update refuses it.`,
      remedy: `Put in ${allowed}.`,
    })),
  ({ spec }) =>
    spec.publicAccess === undefined && {
      id: "private-api",
      level: "note",
      path: key("access"),
      message: "The Kubernetes API is reachable from the private network only, also for the deployer.",
      remedy: "Run the update from a machine that reaches the network, or add access.public with an allow-list.",
    },
  ({ spec }) =>
    spec.network.nat === "single" &&
    spec.network.existing === undefined &&
    spec.network.zones.length > 1 &&
    production(spec) && {
      id: "single-nat-gateway",
      level: "warning",
      path: key("network.nat"),
      message: "One NAT gateway serves every zone: when that zone fails, every machine loses its way to the internet.",
      remedy: "Set network.nat to perZone.",
    },
  ({ spec }) =>
    spec.network.nat === "perZone" && spec.facts.network.subnetsSpanZones
      ? spec.pools
          .filter(({ zones }) => zones.length > 1)
          .map(({ path, zones }) => ({
            id: "one-nat-gateway-for-pool",
            level: worse(spec),
            path: `${path}.perZone`,
            message: `The pool's machines share one subnet and the NAT gateway of zone ${zones[0]}: when that zone fails, those of the others lose their way to the internet.`,
            remedy: "Set perZone on the pool: a group, a subnet and a gateway for each zone.",
          }))
      : [],
  ({ spec: { kubernetes, privateAccess = [] } }) =>
    privateAccess.flatMap((network) =>
      [...(kubernetes.podNetwork.addressing.nodeRanges ? [kubernetes.podCidr] : []), kubernetes.serviceCidr]
        .filter((range) => overlaps(cidr(network), cidr(range)))
        .map((range) => ({
          id: "callers-among-pods",
          level: "warning",
          path: key("access.private.allow"),
          message: `Whoever has an address of ${network} that is also in ${range} gets no answer: nodes take it for a pod or a Service.`,
          remedy:
            "Name the networks that are in use, or choose other ranges for pods and Services before the cluster is made.",
        })),
    ),
  ({ spec }) =>
    spec.facts.regions.withoutZones.has(spec.region) && {
      id: "region-without-zones",
      level: "warning",
      path: key("region"),
      message: `${spec.facts.words.title} lists ${spec.region} without availability zones, which the cluster's addresses, load balancers and disks need.`,
      remedy: "Choose a region with zones; az vm list-skus --location shows those of a size.",
    },
  ({ spec }) =>
    spec.controlPlane.members.length === 1 && {
      id: "single-control-plane",
      level: worse(spec),
      path: key("controlPlane.replicas"),
      message: "One control-plane machine: the API is unavailable while it is replaced or lost.",
      remedy: "Set controlPlane.replicas to 3.",
    },
  ({ spec }) =>
    oneZoneHoldsQuorum(spec) && {
      id: "quorum-in-one-zone",
      level: worse(spec),
      path: key("network.zones"),
      message: `${spec.controlPlane.members.length} control-plane machines share ${spec.network.zones.length} ${spec.network.zones.length === 1 ? "zone" : "zones"}: losing one zone can lose the quorum of etcd.`,
      remedy:
        "Name three zones before the cluster is made: a running one takes no further zone where machines share one.",
    },
  ({ spec }) =>
    spec.pools.some((pool) => !windows(pool) && (pool.count > 0 || (pool.autoscale?.max ?? 0) > 0))
      ? []
      : [
          {
            id: "no-linux-capacity",
            level: "warning",
            path: key("pools"),
            message: "No Linux pool: add-ons and Linux workloads have nowhere to run beside the control plane.",
            remedy: "Add a pool with os: linux.",
          },
        ],
  ({ spec }) =>
    spec.pools.flatMap((pool): readonly Found[] =>
      pool.os === "windows" && !pool.release.upstreamSupported
        ? [
            {
              id: "windows-past-upstream-support",
              level: "warning",
              path: `${pool.path}.os`,
              message: `${pool.release.title} is no longer listed by upstream Kubernetes${spec.kubernetes.podNetwork.windows.hostReachesOwnPods(pool.release) ? "" : ", and its nodes cannot reach their own pods, so HTTP and TCP probes by pod address fail"}.`,
              remedy: `Move the workloads to a ${supportedReleases} pool, with images of that build.`,
            },
          ]
        : [],
    ),
  ({ spec }) =>
    spec.pools.flatMap(({ release, image, path }): readonly Found[] => {
      const repaired = spec.kubernetes.podNetwork.windows.repaired[release.name];
      if (repaired === undefined || image === "latest") return [];
      const made = imageDate(image);
      if (made !== undefined && made >= repaired) return [];
      return [
        {
          id: "windows-overlay-fault",
          level: made === undefined ? "note" : "warning",
          path: `${path}.image`,
          message: `${release.title} needs the updates of ${repaired} for the pod network; ${made === undefined ? "an AMI id does not say when it was last updated" : `this image is of ${made}`}.`,
          remedy: `Pin an image with the updates of ${repaired} or later.`,
        },
      ];
    }),
  ({ spec }) =>
    [
      { path: key("controlPlane.image"), image: spec.controlPlane.image },
      ...spec.pools.map(({ path, image }) => ({ path: `${path}.image`, image })),
    ]
      .filter(({ image }) => image === "latest")
      .map(({ path }) => ({
        id: "image-latest",
        level: worse(spec),
        path,
        message: "The image is the newest one at each launch: two machines of one pool may differ.",
        remedy: "Pin an image that you have tested.",
      })),
  ({ spec }) =>
    spec.pools
      .filter(({ os, image }) => os === "windows" && image.startsWith("ami-"))
      .map(({ path }) => ({
        id: "pinned-windows-image",
        level: "note",
        path: `${path}.image`,
        message:
          "Amazon withdraws each of its Windows images after about three months; then the pool can start no machine any more.",
        remedy: "Pin an image of your own account: yours, or a copy of Amazon's (aws ec2 copy-image).",
      })),
  ({ spec }) =>
    spec.pools
      .filter(({ spot }) => spot && production(spec))
      .map(({ path }) => ({
        id: "spot-in-production",
        level: "note",
        path: `${path}.spot`,
        message: "The cloud may take these machines back at two minutes' notice or less.",
        remedy: "Keep enough machines of another pool for what must not stop.",
      })),
  ({ spec }) =>
    spec.addons.samples &&
    production(spec) && {
      id: "samples-in-production",
      level: "warning",
      path: key("addons.samples"),
      message: "Sample web servers run beside your workloads, with a load balancer for each Windows build.",
      remedy: "Leave addons.samples out.",
    },
  ({ spec }) =>
    spec.pools
      .filter(({ nodeLogQuery }) => nodeLogQuery)
      .map(({ path }) => ({
        id: "node-logs-by-api",
        level: worse(spec),
        path: `${path}.nodeLogQuery`,
        message: "Anyone who may use nodes/proxy can read the event logs and journals of these nodes through the API.",
        remedy: "Turn nodeLogQuery off when you have found what you were looking for.",
      })),
  ({ spec }) =>
    spec.accountId === undefined &&
    production(spec) && {
      id: "no-account-guard",
      level: "warning",
      path: key("accountId"),
      message: "Nothing stops an update with the credentials of another account.",
      remedy: "Set accountId to the account or subscription of this stack.",
    },
  ({ spec, asOf }) =>
    spec.facts.apiRetirements.map(({ what, day, remedy }) => ({
      id: "api-retires",
      level: asOf !== undefined && asOf >= day ? "error" : "warning",
      path: key("cloud"),
      message: `${what}, retires on ${day}: from then on an update that makes, changes or refreshes one of them fails.`,
      remedy,
    })),
  ({ spec, asOf }) => {
    const facts = minorFacts(spec.kubernetes.version);
    return asOf !== undefined && facts !== undefined && asOf > facts.endOfLife
      ? [
          {
            id: "kubernetes-out-of-support",
            level: "warning",
            path: key("kubernetes.version"),
            message: `Upstream support of Kubernetes ${facts.minor} ended on ${facts.endOfLife}.`,
            remedy: "Upgrade to the next minor, one at a time.",
          },
        ]
      : [];
  },
];

/**
 * Day of an Azure image's updates, an ISO date: its version ends in yymmdd. `undefined` for an AMI id, which has no
 * date.
 */
function imageDate(image: string): string | undefined {
  const [, year, month, day] = /^\d+\.\d+\.(\d{2})(\d{2})(\d{2})$/.exec(image) ?? [];
  return day === undefined ? undefined : `20${year}-${month}-${day}`;
}

/** Rights that end in all others: AWS's policy, and Azure's Owner, Contributor and the two that hand out roles. */
const almighty = [
  /:policy\/(AdministratorAccess|PowerUserAccess|IAMFullAccess)$/,
  /^(8e3af657-a8ff-443c-a75c-2fe8c4bcb635|b24988ac-6180-42a0-ab88-20f7382dd24c|18d7d88d-d35e-4fb5-a5c3-7773c20a72d9|f58310d9-a9f6-439a-9e8d-f62e7b41a168)$/i,
];

export const identityRules: readonly Rule[] = [
  ({ spec }) =>
    workloadIdentityFindings(spec).map((message) => ({
      id: "identity-tokens-by-hand",
      level: "note",
      path: key("access.workloadIdentity"),
      message: `${message}.`,
      remedy: "Choose Kubernetes 1.36 or newer, or mount the tokens as docs/operations.md says.",
    })),
  ({ spec: { workloadIdentity } }) =>
    (workloadIdentity?.serviceAccounts ?? []).flatMap(({ namespace, name, policies, statements, roles }, index) => {
      const wide = [
        ...policies.filter((policy) => almighty.some((pattern) => pattern.test(policy))),
        ...roles.map(({ role }) => role).filter((role) => almighty.some((pattern) => pattern.test(role))),
        ...statements.flatMap(({ actions, resources }) =>
          resources.includes("*") ? actions.filter((action) => action.endsWith("*")) : [],
        ),
      ];
      return wide.map((right) => ({
        id: "identity-too-wide",
        level: "warning" as const,
        path: key(`access.workloadIdentity.serviceAccounts[${index}]`),
        message: `Anyone who may create a pod in ${namespace} as ${name} has ${right} on everything.`,
        remedy: "Name the actions and the resources that the program needs.",
      }));
    }),
];
