import { windowsArtifacts } from "../../../components/machine/windows/artifacts.ts";
import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import { windowsReleases } from "../../../components/model/operatingSystems.ts";
import type { PoolSpec } from "../../../components/model/pools.ts";
import { minorFacts } from "../../../components/model/releases.ts";
import { networkRules } from "./network.ts";
import { type Found, key, production, type Rules } from "./rule.ts";

const windows = (pool: PoolSpec): boolean => pool.os === "windows";

/** `windows-2022 or windows-2025`. */
const supportedReleases = windowsReleases
  .flatMap(({ name, upstreamSupported }) => (upstreamSupported ? [name] : []))
  .join(" or ");

/** One machine has a finding for itself. */
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
  ...networkRules,
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
  "windows-past-upstream-support": {
    level: "warning",
    about: "upstream Kubernetes no longer lists the Windows release",
    find: ({ spec }) =>
      spec.pools.flatMap((pool): readonly Found[] =>
        pool.os === "windows" && !pool.release.upstreamSupported
          ? [
              {
                path: `${pool.path}.os`,
                message: `${pool.release.title} is no longer listed by upstream Kubernetes${spec.kubernetes.podNetwork.windows.hostReachesOwnPods(pool.release) ? "" : ", and its nodes cannot reach their own pods, so HTTP and TCP probes and kubectl port-forward fail"}.`,
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
            message: `${release.title} needs the updates of ${repaired} for the pod network; ${made === undefined ? "its id does not say when it was last updated" : `this image is of ${made}`}.`,
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
        .filter(({ image }) => isNewest(image))
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
        .filter(({ os, image }) => os === "windows" && !isNewest(image))
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
  "secrets-by-passphrase": {
    level: ["warning", "error"],
    about: "the stack's secrets, the keys of its authorities among them, are encrypted with a passphrase",
    find: ({ passphrase }) =>
      passphrase === true && {
        path: "encryptionsalt",
        message: "Whoever knows the passphrase and reads the state is an administrator, unseen, for ten years.",
        remedy:
          "Take a key of the cloud: pulumi stack change-secrets-provider awskms://ALIAS?region=REGION or azurekeyvault://VAULT.vault.azure.net/keys/NAME/VERSION.",
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

/** Whether an image is chosen anew at each launch: the word, a gallery's without a version, or by a parameter. */
const isNewest = (image: string): boolean => image === "latest" || /^(resolve:|\/(?!.*\/versions\/))/i.test(image);

/** The date by the yymmdd that ends an Azure image's version; an AMI id has none. */
function imageDate(image: string): string | undefined {
  // 20348.4294.251009, 24.04.202511010
  const [, year, month, day] = /^\d+\.\d+\.(?:20)?(\d{2})(\d{2})(\d{2})\d?$/.exec(image) ?? [];
  return day === undefined ? undefined : `20${year}-${month}-${day}`;
}
