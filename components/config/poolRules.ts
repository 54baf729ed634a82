import { defaultSizes, machineSize, poolGroups, windowsTaint } from "../model/pools.ts";
import { hintProblems } from "./hintRules.ts";
import { attempt } from "./partial.ts";
import { childPath, type Problem } from "./problem.ts";
import type { PoolConfig, StackConfig } from "./schema.ts";

/**
 * Longest pool name on Azure for Windows: a computer name has at most 15 characters and a scale set adds 6 of its own
 * (Azure documentation, virtual machine scale set computer name prefix).
 */
const longestAzureWindowsName = 9;

/** Name part of label and taint keys, and values: at most 63 characters (Kubernetes, labels and selectors). */
const keyName = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/;
/** Prefix of such a key: a DNS subdomain of at most 253 characters. */
const keyPrefix = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

function isQualifiedName(key: string): boolean {
  const slash = key.indexOf("/");
  return keyName.test(key.slice(slash + 1)) && (slash < 0 || keyPrefix.test(key.slice(0, slash)));
}

/** Prefixes that belong to Kubernetes and to Fenestra. NodeRestriction refuses most of the former from a kubelet (kubernetes.io, admission controllers). */
const reservedPrefix = /^([^/]*\.)?(kubernetes\.io|k8s\.io|fenestra\.dev)\//;

const keyForm =
  "an optional DNS prefix with a slash, then up to 63 letters, digits, - _ . with a letter or digit at both ends";
const valueForm = "nothing, or up to 63 letters, digits, - _ . with a letter or digit at both ends";
const ownPrefix = "a prefix of your own, or none: kubernetes.io, k8s.io and fenestra.dev are taken";

type PoolRule = (pool: PoolConfig, path: string, config: StackConfig) => readonly Problem[];

const names: PoolRule = (pool, path, { cloud, network }) => {
  if (cloud !== "azure" || pool.os === "linux") return [];
  return poolGroups(pool, network.zones).flatMap(({ name }) =>
    name.length <= longestAzureWindowsName
      ? []
      : [
          {
            path: `${path}.name`,
            value: pool.name,
            message: `makes the group name ${name} of ${name.length} characters, too long for Windows machines on Azure`,
            allowed: `at most ${longestAzureWindowsName} characters, zone suffix included: a Windows computer name has 15, of which Azure takes 6`,
            remedy: "shorten the name",
          },
        ],
  );
};

const bounds: PoolRule = (pool, path, { network }) => {
  const { autoscale, count } = pool;
  if (autoscale === undefined) return [];
  const { min, max } = autoscale;
  if (min > max) {
    return [
      {
        path: `${path}.autoscale`,
        value: { min, max },
        message: "has min above max",
        allowed: "a min that is at most max",
      },
    ];
  }
  if (count === undefined) return [];
  const groups = pool.perZone ? poolGroups(pool, network.zones).length : 1;
  return count >= min * groups && count <= max * groups
    ? []
    : [
        {
          path: `${path}.count`,
          value: count,
          message: "lies outside the bounds of autoscale",
          allowed: `${min * groups} to ${max * groups}${groups > 1 ? `, since the bounds hold for each of ${groups} zones` : ""}`,
          remedy: "leave count out to start with the least",
        },
      ];
};

/** Disk of Microsoft's images in Azure's marketplace, in GiB; a smaller one is refused at creation (Azure documentation, smalldisk images). */
const azureWindowsImageGb = 127;

const disk: PoolRule = ({ os, diskGb }, path, { cloud }) =>
  cloud === "azure" && os !== "linux" && diskGb !== undefined && diskGb < azureWindowsImageGb
    ? [
        {
          path: `${path}.diskGb`,
          value: diskGb,
          message: "is smaller than the Windows image on Azure",
          allowed: `${azureWindowsImageGb} GiB at least`,
        },
      ]
    : [];

const zones: PoolRule = (pool, path, { network }) => {
  const own = pool.zones ?? [];
  return [...own.keys()].flatMap((index) =>
    attempt((): Problem[] => {
      const zone = own[index] ?? "";
      const at = `${path}.zones[${index}]`;
      if (!network.zones.includes(zone)) {
        const allowed = `one of network.zones: ${network.zones.join(", ")}`;
        return [{ path: at, value: zone, message: "is not a zone of the network", allowed }];
      }
      return own.indexOf(zone) === index
        ? []
        : [{ path: at, value: zone, message: "is listed twice", allowed: "each zone once" }];
    }),
  );
};

/** Sizes as the clouds spell them. With `capacity` a name is not looked up, so at least its form is checked. */
const sizeForm = {
  aws: /^[a-z][a-z0-9-]*\.[a-z0-9-]+$/,
  azure: /^Standard_[A-Za-z0-9_-]+$/,
} as const;

const sizes: PoolRule = (pool, path, { cloud }) => {
  const name = pool.size ?? defaultSizes[cloud];
  const size = machineSize(cloud, name, pool.capacity);
  const at = `${path}.size`;
  if (!sizeForm[cloud].test(name)) {
    const allowed =
      cloud === "aws" ? "an EC2 instance type such as m7i.large" : "an Azure size such as Standard_D2s_v5";
    return [{ path: at, value: name, message: "is not a machine size", allowed }];
  }
  if (size === undefined) {
    return [
      {
        path: at,
        value: name,
        message: "is not a machine size that Fenestra knows",
        allowed:
          cloud === "aws"
            ? "a size of the families c, m, r, t, or any with capacity"
            : "a size of the families B, D, E, F, or any with capacity",
        remedy: "state its processors and memory in capacity",
      },
    ];
  }
  if (size.arch !== "amd64")
    return [{ path: at, value: name, message: "is an Arm size", allowed: "an x86 size: the images are x86" }];
  if (pool.os !== "linux" && (size.vcpus < 2 || size.memoryGib < 4)) {
    return [
      { path: at, value: name, message: "is too small for a Windows node", allowed: "2 processors and 4 GiB at least" },
    ];
  }
  if (size.memoryGib < 2) {
    // 2 GB is also what kubeadm's documentation asks of every machine.
    return [{ path: at, value: name, message: "is too small for a node", allowed: "1 processor and 2 GiB at least" }];
  }
  if (!pool.hyperV || pool.os === "linux" || size.nestedVirtualization) return [];
  return [
    {
      path: at,
      value: name,
      message: "cannot nest virtualisation, which hyperV needs",
      allowed:
        cloud === "aws"
          ? "a size of c8i, m8i or r8i with at most 192 processors"
          : "a D or E size of version 3 or later (AMD: 5 or later)",
      ...(pool.size === undefined ? { remedy: `state a size; ${name} is the default` } : {}),
    },
  ];
};

const hyperV: PoolRule = (pool, path) =>
  pool.hyperV && pool.os === "linux"
    ? [{ path: `${path}.hyperV`, value: true, message: "is meant for Windows pools", allowed: "false on Linux" }]
    : [];

const metadataAcl: PoolRule = (pool, path) =>
  pool.metadataAcl || pool.os !== "linux"
    ? []
    : [
        {
          path: `${path}.metadataAcl`,
          value: false,
          message: "is meant for Windows pools",
          allowed: "true on Linux, whose nodes filter packets",
        },
      ];

const labels: PoolRule = (pool, path) =>
  Object.keys(pool.labels).flatMap((name) =>
    attempt((): Problem[] => {
      const value = pool.labels[name] ?? "";
      const at = childPath(`${path}.labels`, name);
      return [
        ...keyProblems(name, at, "label"),
        ...(labelValue.test(value) ? [] : [{ path: at, value, message: "is not a label value", allowed: valueForm }]),
      ];
    }),
  );

function keyProblems(key: string, path: string, kind: "label" | "taint"): readonly Problem[] {
  if (!isQualifiedName(key)) return [{ path, value: key, message: `is not the name of a ${kind}`, allowed: keyForm }];
  return reservedPrefix.test(key)
    ? [{ path, value: key, message: `is a ${kind} that Kubernetes or Fenestra sets`, allowed: ownPrefix }]
    : [];
}

const taints: PoolRule = (pool, path) =>
  [...pool.taints.keys()].flatMap((index) => {
    const at = `${path}.taints[${index}]`;
    return [
      ...attempt(() => keyProblems(pool.taints[index]?.key ?? "", `${at}.key`, "taint")),
      ...attempt(() => {
        const value = pool.taints[index]?.value ?? "";
        return labelValue.test(value)
          ? []
          : [{ path: `${at}.value`, value, message: "is not a taint's value", allowed: valueForm }];
      }),
      ...attempt(() => repeatedTaint(pool, index, at)),
    ];
  });

/** A node has each pair of key and effect once, whatever the value (Kubernetes API, validation of node taints). */
function repeatedTaint(pool: PoolConfig, index: number, path: string): readonly Problem[] {
  const id = (taint: { key: string; effect: string } | undefined): string => `${taint?.key}:${taint?.effect}`;
  const own = id(pool.taints[index]);
  const ours = pool.os !== "linux" && own === id(windowsTaint);
  if (!ours && pool.taints.findIndex((taint) => id(taint) === own) === index) return [];
  return [
    {
      path,
      value: own,
      message: ours ? "is set by Fenestra on Windows" : "is listed twice",
      allowed: "each key and effect once",
    },
  ];
}

/** Whether an image is spelled as the cloud has it. */
export function imageProblems(cloud: StackConfig["cloud"], image: string, path: string): readonly Problem[] {
  const pattern = cloud === "aws" ? /^ami-[0-9a-f]{8,17}$/ : /^\d+\.\d+\.\d+$/;
  if (image === "latest" || pattern.test(image)) return [];
  return [
    {
      path,
      value: image,
      message: "is neither latest nor a pinned image",
      allowed: cloud === "aws" ? "latest or an AMI id, ami-…" : "latest or an image version, three numbers with dots",
    },
  ];
}

const image: PoolRule = (pool, path, { cloud }) => imageProblems(cloud, pool.image, `${path}.image`);

const poolRuleList: readonly PoolRule[] = [
  names,
  bounds,
  zones,
  sizes,
  disk,
  hyperV,
  metadataAcl,
  labels,
  taints,
  hintProblems,
  image,
];

function duplicateNames({ pools, network }: StackConfig): readonly Problem[] {
  const seen = new Map<string, number>();
  return [...pools.keys()].flatMap((index) =>
    attempt((): Problem[] => {
      const pool = pools[index];
      if (pool === undefined) return [];
      // A zone that is listed twice is told by its own rule, not once more as a name.
      const groups = new Set(poolGroups(pool, network.zones).map(({ name }) => name));
      return [...groups].flatMap((name): Problem[] => {
        const first = seen.get(name);
        if (first === undefined) {
          seen.set(name, index);
          return [];
        }
        return [
          {
            path: `config.fenestra:pools[${index}].name`,
            value: pool.name,
            message: `makes the group name ${name}, which config.fenestra:pools[${first}] has already`,
            allowed: "names that stay unique when perZone appends the zone's last letter or digit",
          },
        ];
      });
    }),
  );
}

/** Every problem of the pools. */
export function poolRules(config: StackConfig): readonly Problem[] {
  const own = [...config.pools.keys()].flatMap((index) =>
    poolRuleList.flatMap((rule) =>
      attempt(() => {
        const pool = config.pools[index];
        return pool === undefined ? [] : rule(pool, `config.fenestra:pools[${index}]`, config);
      }),
    ),
  );
  return [...own, ...duplicateNames(config)];
}
