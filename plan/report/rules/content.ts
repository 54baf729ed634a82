import type { AuditPolicy } from "../../../components/config/machineSchema.ts";
import { mirrorOf } from "../../../components/machine/registryMirrors.ts";
import { type Artifact, downloadUrl, isImage } from "../../../components/model/artifacts.ts";
import { clientLimits } from "../../../components/model/clusterSpec.ts";
import { groupSize } from "../../../components/model/pools.ts";
import { imagesIn, type RecordedProgram } from "../../program/recorded.ts";
import { key, type Rules } from "./rule.ts";

/** Nodes up to which a size tier is meant, by the setting's description. */
const tierNodes = { small: 50, medium: 250, large: 1000 } as const;

/**
 * Half of the default, which is of OpenShift's guide for Windows machine sets: below it a few images of Windows fill
 * the disk.
 */
const leastWindowsDisk = 60;

/** Memory of the default size, in GiB; the stack file's rules refuse what cannot run at all. */
const leastWindowsMemory = 8;

/**
 * A value under the name of a secret that is no reference to one, a login in a URL or a header, a token by its form.
 */
const saysSecret = new RegExp(
  [
    /(?:pass(?:w(?:or)?d|phrase)?|secret|token|credential|(?:api|access|account)[_-]?key)["']?\s*[:=]\s*["']?[^\s"'$%{}()<>;|&]{6}/,
    /:\/\/[^\s/:@$]+:[^\s/@$]+@|authorization:\s*(?:basic|bearer)\s+[^\s$]{6}|-asplaintext|curl\b.*\s-u\s*["']?[^\s:$]+:[^\s$]/,
    /net1?\s+user\s+\S+\s+[^\s$/*%]|\b(?:gh[pousr]_|glpat-|xox[abp]-|sk-)[a-z0-9_-]{10}/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);

export const sizeRules = {
  "size-tier-too-small": {
    level: "warning",
    about: "more nodes than the size tier is meant for",
    find: ({ spec }) => {
      const { pools, controlPlane } = spec;
      const nodes = pools.reduce((sum, pool) => sum + groupSize(pool).maxSize, controlPlane.members.length);
      const tiers = (["small", "medium", "large"] as const).filter((name) => tierNodes[name] >= nodes);
      const own = (["small", "medium", "large"] as const).find(
        (name) => clientLimits[name].qps === spec.kubernetes.clientLimits.qps,
      );
      if (own === undefined || nodes <= tierNodes[own]) return [];
      return [
        {
          path: key("kubernetes.sizeTier"),
          message: `The cluster may have ${nodes} nodes; the size tier ${own} is meant for about ${tierNodes[own]}.`,
          remedy:
            tiers[0] === undefined
              ? "Divide the machines among several clusters."
              : `Set kubernetes.sizeTier to ${tiers[0]} before the cluster grows: it replaces the control-plane machines one at a time.`,
        },
      ];
    },
  },
  "etcd-disk-slow": {
    level: "warning",
    about: "etcd's disk on Azure has fewer operations per second than the size tier asks for",
    find: ({ spec: { cloud, controlPlane, kubernetes } }) => {
      // Premium SSD: 120 up to 32 GiB, 240 up to 64, 500 up to 128 (Azure documentation, "Managed disk types"). etcd
      // wants 500 where much is written (etcd documentation, "Hardware recommendations").
      const least = kubernetes.clientLimits.qps > clientLimits.medium.qps ? 256 : 128;
      const isSlow = cloud === "azure" && kubernetes.clientLimits.qps > clientLimits.small.qps;
      return isSlow && controlPlane.etcdDiskGb <= least / 2
        ? {
            path: key("controlPlane.etcdDiskGb"),
            message: `A disk of ${controlPlane.etcdDiskGb} GiB is slow for this size tier: etcd loses its leader when writes wait.`,
            remedy: `Set controlPlane.etcdDiskGb to ${least}: Azure's speed follows the size.`,
          }
        : [];
    },
  },
  "disk-not-encrypted": {
    level: "error",
    about: "a volume is not encrypted",
    find: ({ program }) =>
      program.resources
        .filter(({ type, inputs }) => type === "aws:ebs/volume:Volume" && inputs.encrypted !== true)
        .map(({ name }) => ({ path: name, message: "The volume is not encrypted.", remedy: "Set encrypted." })),
  },
  "windows-machine-small": {
    level: "warning",
    about: "Windows machines with little disk or memory",
    find: ({ spec }) =>
      spec.pools.flatMap(({ os, diskGb, size, path }) => {
        if (os !== "windows") return [];
        const small = [
          ...(diskGb < leastWindowsDisk ? [`a disk of ${diskGb} GiB`] : []),
          ...(size.memoryGib < leastWindowsMemory ? [`${size.memoryGib} GiB of memory`] : []),
        ];
        if (small.length === 0) return [];
        return [
          {
            path,
            message: `Windows machines with ${small.join(" and ")} have little left for pods and their images.`,
            remedy: `Give them ${leastWindowsDisk} GiB of disk and ${leastWindowsMemory} GiB of memory or more.`,
          },
        ];
      }),
  },
} as const satisfies Rules;

/** Part of the limit from which user data is nearly full. */
const nearlyFull = 0.9;

export const contentRules = {
  "transform-of-what-is-relied-on": {
    level: "warning",
    about: "a transform changes what gates, replacement or identity rely on",
    find: ({ program: { messages } }) =>
      messages.flatMap(({ text }) => {
        const [, what, of, why] = /^a transform changes (\S+) of (\S+ \S+): (.*)$/.exec(text) ?? [];
        return what === undefined || of === undefined
          ? []
          : [
              {
                path: of,
                message: `A transform changes ${what}: ${why}.`,
                remedy: "Take a setting for it if there is one; else try the next update in a stack of no worth.",
              },
            ];
      }),
  },
  "script-with-secret": {
    level: "warning",
    about: "a pool's script reads as if it held a password or a token, which user data shows to whoever reads it",
    find: ({ spec }) =>
      spec.pools.flatMap(({ path, beforeJoin = "", afterJoin = "" }) =>
        Object.entries({ beforeJoin, afterJoin })
          .filter(([, script]) => saysSecret.test(script))
          .map(([name]) => ({
            path: `${path}.${name}`,
            message: "The script reads as if it held a password or a token: it is part of user data, for all to read.",
            remedy: "Let the script fetch it from a secret store by the machine's identity, and change it.",
          })),
      ),
  },
  "secret-in-the-open": {
    level: "error",
    about: "a value that is not marked as secret holds one; cannot be acknowledged",
    find: ({ leaks }) =>
      leaks.map(({ resource, path, what }) => ({
        path: `${resource} ${path}`,
        message: `A value that is not marked as secret holds ${what}.`,
        remedy: "Let the machine fetch it by its identity at boot, or mark the value as secret.",
      })),
  },
  "user-data-size": {
    level: ["warning", "error"],
    about: "user data close to the cloud's limit, or beyond it",
    // The cloud says so too, but of a control-plane machine when the one before it is gone.
    find: ({ machines }) =>
      machines
        .filter(({ userData }) => userData.bytes > userData.limit * nearlyFull)
        .map(({ name, userData }) => ({
          level: userData.bytes > userData.limit ? "error" : "warning",
          path: name,
          message: `The user data has ${userData.bytes} of ${userData.limit} bytes that the cloud takes.`,
          remedy: "Move a file of the payload to the second stage that the machine fetches by its identity.",
        })),
  },
  "unconfirmed-artifact": {
    level: ["note", "error"],
    about: "an artifact without a digest is used",
    find: ({ spec, program, machines }) => {
      const images = new Set(imagesOf(program));
      const files = machines.flatMap((machine) => machine.files.map(({ content }) => content));
      const inUse = (artifact: Artifact): boolean =>
        isImage(artifact)
          ? images.has(artifact.url)
          : files.some((text) => text.includes(downloadUrl(artifact.url, spec.mirror.artifacts)));
      return spec.artifacts
        .filter((artifact) => artifact.digest === null && inUse(artifact))
        .map(({ name, version }) => ({
          path: `${name} ${version}`,
          message:
            "This release has no digest of it: what runs is what its publisher, or your mirror, has under that name that day.",
          remedy: "fenestra pin records what the publisher says; or accept it by a reason in acknowledge.",
        }));
    },
  },
  "registry-out-of-reach": {
    level: "error",
    about: "a registry that nodes cannot reach",
    find: ({ spec, program }) => {
      if (spec.network.nat !== "none" || spec.httpProxy !== undefined) return [];
      const registries = new Set(imagesOf(program).map((image) => image.split("/")[0] ?? ""));
      return [...registries]
        .filter((registry) => mirrorOf(spec.mirror.registries, registry) === undefined)
        .sort()
        .map((registry) => ({
          path: key("mirror.registries"),
          message: `Nodes pull images from ${registry}, but there is no NAT gateway, no proxy and no mirror of it.`,
          remedy: `Name a mirror of ${registry}; fenestra mirror shows what it must hold.`,
        }));
    },
  },
} as const satisfies Rules;

function imagesOf({ resources }: RecordedProgram): readonly string[] {
  return resources.filter(({ type }) => type.startsWith("kubernetes:")).flatMap(({ inputs }) => imagesIn(inputs));
}

export const addOnRules = {
  "secrets-in-sent-logs": {
    level: "warning",
    about: "bodies of Secrets leave the cluster with the audit log",
    find: ({ spec: { addons, controlPlane } }) =>
      addons.logs !== undefined &&
      logsBodiesOfSecrets(controlPlane.auditPolicy) && {
        path: key("controlPlane.auditPolicy"),
        message: "The audit policy logs bodies of Secrets, and addons.logs sends the audit log out of the cluster.",
        remedy: "Put a rule of level Metadata for Secrets before the others.",
      },
  },
  "logs-behind-a-login": {
    level: "warning",
    about: "the proxy wants a login that the collectors do not have",
    find: ({ spec: { addons, credentials } }) =>
      addons.logs !== undefined &&
      credentials.proxy && {
        path: key("addons.logs"),
        message: "The collectors do not know the login of the proxy, so it lets none of their requests through.",
        remedy: "Let the nodes reach that endpoint without a login, or name its host in noProxy.",
      },
  },
} as const satisfies Rules;

/** The first rule that fits decides; a rule for some requests may not fit. */
function logsBodiesOfSecrets(policy: AuditPolicy | undefined): boolean {
  for (const { level, resources, ...conditions } of policy?.rules ?? []) {
    const secrets =
      resources === undefined ||
      resources.some(
        ({ group = "", resources: names = [] }) =>
          group === "" && (names.length === 0 || names.some((name) => ["*", "secrets"].includes(name))),
      );
    if (!secrets) continue;
    if (level === "Request" || level === "RequestResponse") return true;
    if (resources?.every(({ resourceNames = [] }) => resourceNames.length === 0) !== false && isForAll(conditions))
      return false;
  }
  return false;
}

/** Whether a rule is without conditions on who, what and where. */
function isForAll(conditions: object): boolean {
  return ["users", "userGroups", "verbs", "namespaces", "nonResourceURLs"].every((name) => !(name in conditions));
}

/** Rights that end in all rights: AWS's policies, Azure's Owner, Contributor and the two that hand out roles. */
const almighty = [
  /:policy\/(AdministratorAccess|PowerUserAccess|IAMFullAccess)$/,
  /^(8e3af657-a8ff-443c-a75c-2fe8c4bcb635|b24988ac-6180-42a0-ab88-20f7382dd24c|18d7d88d-d35e-4fb5-a5c3-7773c20a72d9|f58310d9-a9f6-439a-9e8d-f62e7b41a168)$/i,
];

export const identityRules = {
  "identity-too-wide": {
    level: "warning",
    about: "a service account may do everything",
    find: ({ spec: { workloadIdentity } }) =>
      (workloadIdentity?.serviceAccounts ?? []).flatMap(({ namespace, name, policies, statements, roles }, index) => {
        const wide = [
          ...[...policies, ...roles.map(({ role }) => role)].filter((right) => almighty.some((all) => all.test(right))),
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
