import { workloadIdentityFindings } from "../../../components/kubernetes/addOns/workloadIdentity.ts";
import { guardRailFindings } from "../../../components/kubernetes/guardRails.ts";
import { windowsArtifacts } from "../../../components/machine/windows/artifacts.ts";
import { addressCount, cidr, contains, outermost, overlaps } from "../../../components/model/cidr.ts";
import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import { documentationNetworks, exampleProblems } from "../../../components/model/exampleValues.ts";
import { windowsReleases } from "../../../components/model/operatingSystems.ts";
import type { PoolSpec } from "../../../components/model/pools.ts";
import { minorFacts } from "../../../components/model/releases.ts";
import { type FindingInput, type Found, key, production, type Rules } from "./rule.ts";

const windows = (pool: PoolSpec): boolean => pool.os === "windows";

/** Addresses that an organisation may have at most: a /8, of which each registry gave a handful. */
const mostCallers = addressCount(8);

/** RFC 1918. */
const privateNetworks = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"].map(cidr);

/** What nobody has on the internet: those, carriers' and laboratories' (RFC 6598, RFC 2544). */
const unroutedNetworks = [...privateNetworks, ...["100.64.0.0/10", "198.18.0.0/15"].map(cidr)];

/** Half a year. */
const oldMs = 183 * 24 * 3600 * 1000;

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

export const stackRules = {
  "encrypted-value": {
    level: "note",
    about: "a value is encrypted, so the plan has a fake in its place",
    find: ({ encrypted }) =>
      encrypted.map((name) => ({
        path: `config.${name}`,
        message: "The value is encrypted (secure): the plan has a fake in its place.",
        remedy: "Pulumi can decrypt it: pulumi preview shows what the real value does.",
      })),
  },
  "guard-rails-incomplete": {
    level: "note",
    about: "the minor lacks a policy, so Windows pods are not placed by themselves",
    find: ({ spec }) =>
      guardRailFindings(spec).map((message) => ({
        path: key("kubernetes.version"),
        message: `${message}.`,
        remedy: "Choose Kubernetes 1.36 or newer, or set runtimeClassName on every Windows pod.",
      })),
  },
  "public-api-open": {
    level: "error",
    about: "the API takes callers of the whole internet",
    find: ({ spec }: Pick<FindingInput, "spec">) => {
      const networks = outermost(spec.publicAccess ?? []);
      const callers = networks.reduce((sum, network) => sum + addressCount(cidr(network).prefix), 0);
      return (
        callers > mostCallers && {
          path: key("access.public.allow"),
          message: `The Kubernetes API is open to ${Math.ceil((100 * callers) / addressCount(0))} % of the internet (${networks.slice(0, 3).join(", ")}${networks.length > 3 ? ", ..." : ""}).`,
          remedy: "List the networks of your offices, runners and VPNs.",
        }
      );
    },
  },
  "public-api-private-callers": {
    level: "warning",
    about: "a network that may call the public API has private addresses, from which nobody reaches it",
    find: ({ spec }: Pick<FindingInput, "spec">) =>
      (spec.publicAccess ?? [])
        .filter((network) => privateNetworks.some((each) => contains(each, cidr(network))))
        .map((network) => ({
          path: key("access.public.allow"),
          message: `${network} is private: behind a public load balancer nobody has such an address.`,
          remedy: "Name the public address of its NAT gateway, or allow it inside by access.private.allow.",
        })),
  },
  "network-public": {
    level: "warning",
    about: "a range of the cluster has public addresses, whose owners machines and pods then do not reach",
    find: ({ spec: { network, kubernetes } }) =>
      [
        ...network.cidrs.map((range) => ["network.cidr", range] as const),
        ["kubernetes.podCidr", kubernetes.podCidr] as const,
        ["kubernetes.serviceCidr", kubernetes.serviceCidr] as const,
      ]
        .filter(([, range]) => !unroutedNetworks.some((each) => contains(each, cidr(range))))
        // Where pods have addresses of the network.
        .filter(([, range], index, all) => all.findIndex(([, other]) => other === range) === index)
        .map(([path, range]) => ({
          path: key(path),
          message: documentationNetworks.some((each) => overlaps(each, cidr(range)))
            ? `${range} has addresses of documentation, which routers and firewalls drop.`
            : `${range} has public addresses: whoever owns them on the internet is not reached from the cluster.`,
          remedy:
            "Take a part of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10; acknowledge it where the range is your own.",
        })),
  },
  "size-not-listed": {
    level: "note",
    about: "the cloud did not list a size when its list was read",
    find: ({ spec }) =>
      spec.pools
        .filter(({ size }) => !spec.facts.sizes.lists(size.name))
        .map(({ path, size }) => ({
          path: `${path}.size`,
          message: `EC2 had no ${size.name} on ${spec.facts.sizes.listedOn}.`,
          remedy: "Ask fenestra preflight, or aws ec2 describe-instance-types.",
        })),
  },
  "example-value": {
    level: "warning",
    about: "a value is still an example's",
    find: ({ spec }) =>
      exampleProblems(spec).map(({ path, value, message, allowed }) => ({
        path,
        message: `${String(value)} ${message}. The first update refuses it.`,
        remedy: `Put in ${allowed}.`,
      })),
  },
  "private-api": {
    level: "note",
    about: "the API answers inside the network only, also to the deployer",
    find: ({ spec }) =>
      spec.publicAccess === undefined && {
        path: key("access"),
        message: "The Kubernetes API is reachable from the private network only, also for the deployer.",
        remedy: "Run the update from a machine that reaches the network, or add access.public with an allow-list.",
      },
  },
  "single-nat-gateway": {
    level: "warning",
    about: "one NAT gateway serves every zone of a production stack",
    find: ({ spec }) =>
      spec.network.nat === "single" &&
      spec.network.existing === undefined &&
      spec.network.zones.length > 1 &&
      production(spec) && {
        path: key("network.nat"),
        message:
          "One NAT gateway serves every zone: when that zone fails, every machine loses its way to the internet.",
        remedy: "Set network.nat to perZone.",
      },
  },
  "one-nat-gateway-for-pool": {
    level: ["note", "warning"],
    about: "machines of several zones share the gateway of one",
    find: ({ spec }) =>
      spec.network.nat === "perZone" && spec.facts.network.subnetsSpanZones
        ? spec.pools
            .filter(({ zones }) => zones.length > 1)
            .map(({ path, zones }) => ({
              path: `${path}.perZone`,
              message: `The pool's machines share one subnet and the NAT gateway of zone ${zones[0]}: when that zone fails, those of the others lose their way to the internet.`,
              remedy: "Set perZone on the pool: a group, a subnet and a gateway for each zone.",
            }))
        : [],
  },
  "nat-ports": {
    level: "warning",
    about: "more machines behind a NAT gateway than its addresses have ports for",
    find: ({ spec: { facts, network, pools, controlPlane } }) => {
      const { natPorts } = facts.network;
      if (natPorts === undefined || network.nat === "none" || network.existing !== undefined) return [];
      const zoneOf = (zone: string | undefined) => (network.nat === "single" ? undefined : zone);
      const machines = new Map<string | undefined, number>();
      for (const { zone, most } of [
        ...pools.map(({ zones, count, autoscale }) => ({ zone: zones[0], most: autoscale?.max ?? count })),
        ...controlPlane.members.map(({ zone }) => ({ zone, most: 1 })),
      ])
        machines.set(zoneOf(zone), (machines.get(zoneOf(zone)) ?? 0) + most);
      const most = Math.max(...machines.values());
      // As many ports as Azure gives a machine of a load balancer's larger pools, and AKS a node.
      const wanted = Math.ceil((most * 1024) / natPorts);
      return wanted <= network.natAddresses
        ? []
        : {
            path: key("network.natAddresses"),
            message: `Up to ${most} machines share a NAT gateway with ${network.natAddresses === 1 ? "one address" : `${network.natAddresses} addresses`}: when its ports towards a destination are used up, new connections fail.`,
            remedy:
              wanted > 16 ? "Divide the machines among several clusters." : `Set network.natAddresses to ${wanted}.`,
          };
    },
  },
  "callers-among-pods": {
    level: "warning",
    about: "callers of the API have addresses of pods or Services",
    find: ({ spec: { kubernetes, privateAccess = [] } }) =>
      privateAccess.flatMap((network) =>
        [...(kubernetes.podNetwork.addressing.nodeRanges ? [kubernetes.podCidr] : []), kubernetes.serviceCidr]
          .filter((range) => overlaps(cidr(network), cidr(range)))
          .map((range) => ({
            path: key("access.private.allow"),
            message: `Whoever has an address of ${network} that is also in ${range} gets no answer: nodes take it for a pod or a Service.`,
            remedy:
              "Name the networks that are in use, or choose other ranges for pods and Services before the cluster is made.",
          })),
      ),
  },
  "region-without-zones": {
    level: "warning",
    about: "the region has no availability zones",
    find: ({ spec }: Pick<FindingInput, "spec">) =>
      spec.facts.regions.withoutZones.has(spec.region) && {
        path: key("region"),
        message: `${spec.facts.words.title} lists ${spec.region} without availability zones, which the cluster's addresses, load balancers and disks need.`,
        remedy: "Choose a region with zones; az vm list-skus --location shows those of a size.",
      },
  },
  "single-control-plane": {
    level: ["note", "warning"],
    about: "one control-plane machine",
    find: ({ spec }) =>
      spec.controlPlane.members.length === 1 && {
        path: key("controlPlane.replicas"),
        message: "One control-plane machine: the API is unavailable while it is replaced or lost.",
        remedy: "Set controlPlane.replicas to 3.",
      },
  },
  "quorum-in-one-zone": {
    level: ["note", "warning"],
    about: "one zone holds etcd's quorum",
    find: ({ spec }) =>
      oneZoneHoldsQuorum(spec) && {
        path: key("network.zones"),
        message: `${spec.controlPlane.members.length} control-plane machines share ${spec.network.zones.length} ${spec.network.zones.length === 1 ? "zone" : "zones"}: losing one zone can lose the quorum of etcd.`,
        remedy:
          "Name three zones before the cluster is made: a running one takes no further zone where machines share one.",
      },
  },
  "no-linux-capacity": {
    level: "warning",
    about: "no Linux pool",
    find: ({ spec }) =>
      spec.pools.some((pool) => !windows(pool) && (pool.count > 0 || (pool.autoscale?.max ?? 0) > 0))
        ? []
        : [
            {
              path: key("pools"),
              message: "No Linux pool: add-ons and Linux workloads have nowhere to run beside the control plane.",
              remedy: "Add a pool with os: linux.",
            },
          ],
  },
  "windows-past-upstream-support": {
    level: "warning",
    about: "upstream Kubernetes no longer lists the Windows release",
    find: ({ spec }) =>
      spec.pools.flatMap((pool): readonly Found[] =>
        pool.os === "windows" && !pool.release.upstreamSupported
          ? [
              {
                path: `${pool.path}.os`,
                message: `${pool.release.title} is no longer listed by upstream Kubernetes${spec.kubernetes.podNetwork.windows.hostReachesOwnPods(pool.release) ? "" : ", and its nodes cannot reach their own pods, so HTTP and TCP probes by pod address fail"}.`,
                remedy: `Move the workloads to a ${supportedReleases} pool, with images of that build.`,
              },
            ]
          : [],
      ),
  },
  "windows-overlay-fault": {
    level: ["note", "warning"],
    about: "the image lacks, or may lack, updates that the pod network needs",
    find: ({ spec }) =>
      spec.pools.flatMap(({ release, image, path }): readonly Found[] => {
        if (release.family !== "windows") return [];
        const repaired = spec.kubernetes.podNetwork.windows.repaired[release.name];
        if (repaired === null || image === "latest") return [];
        const made = imageDate(image);
        if (made !== undefined && made >= repaired) return [];
        return [
          {
            level: made === undefined ? "note" : "warning",
            path: `${path}.image`,
            message: `${release.title} needs the updates of ${repaired} for the pod network; ${made === undefined ? "an AMI id does not say when it was last updated" : `this image is of ${made}`}.`,
            remedy: `Pin an image with the updates of ${repaired} or later.`,
          },
        ];
      }),
  },
  "image-latest": {
    level: ["note", "warning"],
    about: "the newest image at each launch",
    find: ({ spec }) =>
      [
        { path: key("controlPlane.image"), image: spec.controlPlane.image },
        ...spec.pools.map(({ path, image }) => ({ path: `${path}.image`, image })),
      ]
        .filter(({ image }) => image === "latest")
        .map(({ path }) => ({
          path,
          message: "The image is the newest one at each launch: two machines of one pool may differ.",
          remedy: "Pin an image that you have tested.",
        })),
  },
  "pinned-windows-image": {
    level: "note",
    about: "a pinned image of Windows, which ages; Amazon's it withdraws",
    find: ({ spec }) =>
      spec.pools
        .filter(({ os, image }) => os === "windows" && image !== "latest")
        .map(({ path, image }) => {
          const amazons = image.startsWith("ami-");
          return {
            path: `${path}.image`,
            message: `Nodes take no updates, and a Server Core image of a later month than theirs ends with 0xc0370106.${amazons ? " Amazon withdraws each of its Windows images after about three months; then the pool can start no machine any more." : ""}`,
            remedy: `Each month name a new image here, for all Windows pools at once, and rebuild container images when the pools have rolled.${amazons ? " Pin an image of your own account: yours, or a copy of Amazon's (aws ec2 copy-image)." : ""}`,
          };
        }),
  },
  "windows-roots": {
    level: "note",
    about: "Windows machines that cannot fetch roots of certificates",
    find: ({ spec }) => {
      const { pools, network, httpProxy, certificateAuthorities: own } = spec;
      if (own.length > 0 || !pools.some(windows) || (network.nat !== "none" && httpProxy === undefined)) return [];
      const hosts = new Set(windowsArtifacts(spec).map(({ urls: [url = ""] }) => new URL(url).host));
      return {
        path: key("certificateAuthorities"),
        message: `Windows fetches roots that its image lacks from ctldl.windowsupdate.com, past httpProxy: where it cannot, TLS to ${[...hosts].sort().join(", ")} and the cloud's own endpoints may fail (SEC_E_UNTRUSTED_ROOT), while Linux machines connect.`,
        remedy:
          "Compare certutil -store AuthRoot of the image with the roots of these hosts, and name what is missing.",
      };
    },
  },
  "marketplace-image-old": {
    level: "warning",
    about: "a pinned image of Azure's marketplace of more than half a year, which its publisher may withdraw",
    find: ({ spec, asOf }) =>
      asOf === undefined
        ? []
        : [{ path: "config.fenestra:controlPlane", image: spec.controlPlane.image }, ...spec.pools]
            .filter(({ image }) => Date.parse(asOf) - Date.parse(imageDate(image) ?? asOf) > oldMs)
            .map(({ path, image }) => ({
              path: `${path}.image`,
              message: `${image} is of ${imageDate(image)}: its publisher withdraws it one day, and no machine starts from it then.`,
              remedy:
                "Pin a newer one, or a copy in an Azure Compute Gallery of your own. fenestra preflight asks for it.",
            })),
  },
  "spot-in-production": {
    level: "note",
    about: "spot machines in production",
    find: ({ spec }) =>
      spec.pools
        .filter(({ spot }) => spot && production(spec))
        .map(({ path }) => ({
          path: `${path}.spot`,
          message: "The cloud may take these machines back at two minutes' notice or less.",
          remedy: "Keep enough machines of another pool for what must not stop.",
        })),
  },
  "samples-in-production": {
    level: "warning",
    about: "samples in production",
    find: ({ spec }) =>
      spec.addons.samples &&
      production(spec) && {
        path: key("addons.samples"),
        message: "Sample web servers run beside your workloads, with a load balancer for each Windows build.",
        remedy: "Leave addons.samples out.",
      },
  },
  "node-logs-by-api": {
    level: ["note", "warning"],
    about: "logs of nodes can be read through the API",
    find: ({ spec }) =>
      spec.pools
        .filter(({ nodeLogQuery }) => nodeLogQuery)
        .map(({ path }) => ({
          path: `${path}.nodeLogQuery`,
          message:
            "Anyone who may use nodes/proxy can read the event logs and journals of these nodes through the API.",
          remedy: "Turn nodeLogQuery off when you have found what you were looking for.",
        })),
  },
  "no-account-guard": {
    level: "warning",
    about: "a production stack does not name its account",
    find: ({ spec }) =>
      spec.accountId === undefined &&
      production(spec) && {
        path: key("accountId"),
        message: "Nothing stops an update with the credentials of another account.",
        remedy: "Set accountId to the account or subscription of this stack.",
      },
  },
  "api-retires": {
    level: ["warning", "error"],
    about: "a cloud's API that the stack uses ends on a known day; an error from that day on",
    find: ({ spec, asOf }) =>
      spec.facts.apiRetirements.map(({ what, day, remedy }) => ({
        level: asOf !== undefined && asOf >= day ? "error" : "warning",
        path: key("cloud"),
        message: `${what}, retires on ${day}: from then on an update that makes, changes or refreshes one of them fails.`,
        remedy,
      })),
  },
  "kubernetes-out-of-support": {
    level: "warning",
    about: "upstream support of the minor has ended",
    find: ({ spec, asOf }) => {
      const facts = minorFacts(spec.kubernetes.version);
      return asOf !== undefined && facts !== undefined && asOf > facts.endOfLife
        ? [
            {
              path: key("kubernetes.version"),
              message: `Upstream support of Kubernetes ${facts.minor} ended on ${facts.endOfLife}.`,
              remedy: "Upgrade to the next minor, one at a time.",
            },
          ]
        : [];
    },
  },
} as const satisfies Rules;

/**
 * Day of an Azure image's updates, an ISO date: its version ends in yymmdd. `undefined` for an AMI id, which has no
 * date.
 */
function imageDate(image: string): string | undefined {
  // 20348.4294.251009, 24.04.202511010
  const [, year, month, day] = /^\d+\.\d+\.(?:20)?(\d{2})(\d{2})(\d{2})\d?$/.exec(image) ?? [];
  return day === undefined ? undefined : `20${year}-${month}-${day}`;
}

/** Rights that end in all others: AWS's policy, and Azure's Owner, Contributor and the two that hand out roles. */
const almighty = [
  /:policy\/(AdministratorAccess|PowerUserAccess|IAMFullAccess)$/,
  /^(8e3af657-a8ff-443c-a75c-2fe8c4bcb635|b24988ac-6180-42a0-ab88-20f7382dd24c|18d7d88d-d35e-4fb5-a5c3-7773c20a72d9|f58310d9-a9f6-439a-9e8d-f62e7b41a168)$/i,
];

export const identityRules = {
  "identity-of-your-own": {
    level: "note",
    about: "a pool has a role of your own, whose rights no plan shows",
    find: ({ spec }) =>
      spec.pools.flatMap(({ name, instanceProfile }, index) =>
        instanceProfile === undefined
          ? []
          : [
              {
                path: key(`pools[${index}].instanceProfile`),
                message: `Machines of ${name} join by its join secret: a role that cannot read it joins none, one that reads another pool's lets root on a machine of ${name} join there.`,
                remedy:
                  "Give it the policy that the plan shows without the setting, as docs/operations/machines.md says.",
              },
            ],
      ),
  },
  "identity-tokens-by-hand": {
    level: "note",
    about: "the minor lacks a policy, so pods mount their tokens themselves",
    find: ({ spec }) =>
      workloadIdentityFindings(spec).map((message) => ({
        path: key("access.workloadIdentity"),
        message: `${message}.`,
        remedy: "Choose Kubernetes 1.36 or newer, or mount the tokens as docs/operations.md says.",
      })),
  },
  "identity-too-wide": {
    level: "warning",
    about: "a service account may do everything",
    find: ({ spec: { workloadIdentity } }) =>
      (workloadIdentity?.serviceAccounts ?? []).flatMap(({ namespace, name, policies, statements, roles }, index) => {
        const wide = [
          ...policies.filter((policy) => almighty.some((pattern) => pattern.test(policy))),
          ...roles.map(({ role }) => role).filter((role) => almighty.some((pattern) => pattern.test(role))),
          ...statements.flatMap(({ actions, resources }) =>
            resources.includes("*") ? actions.filter((action) => action.endsWith("*")) : [],
          ),
        ];
        return wide.map((right) => ({
          path: key(`access.workloadIdentity.serviceAccounts[${index}]`),
          message: `Anyone who may create a pod in ${namespace} as ${name} has ${right} on everything.`,
          remedy: "Name the actions and the resources that the program needs.",
        }));
      }),
  },
} as const satisfies Rules;
