import { addonsSchema } from "../../../components/config/addOnSchema.ts";
import { poolSchema } from "../../../components/config/schema.ts";
import { operatingSystemNames } from "../../../components/model/operatingSystems.ts";
import type { Row } from "./row.ts";

/** Keys, types and names. */
export const keyRows: readonly Row[] = [
  [
    "an unknown key at the top",
    "aws",
    { nodes: 1 },
    [
      [
        "nodes",
        1,
        "is not a key that Fenestra knows",
        "one of fenestra:cloud, fenestra:name, fenestra:region, fenestra:accountId, fenestra:environment, fenestra:kubernetes, fenestra:network, fenestra:controlPlane, fenestra:pools, fenestra:access, fenestra:secretsEncryption, fenestra:addons, fenestra:repair, fenestra:iam, fenestra:mirror, fenestra:registryAccess, fenestra:certificateAuthorities, fenestra:noProxy, fenestra:httpProxy, fenestra:proxyCredentials, fenestra:registryCredentials, fenestra:encryptionAtHost, fenestra:tags, fenestra:acknowledge",
      ],
    ],
  ],
  [
    "an unknown key of the network",
    "aws",
    { "network.vpc": "x" },
    [["network.vpc", "x", "is not a key that Fenestra knows", "one of cidr, zones, nat, existing, dns, pods, azureCni"]],
  ],
  [
    "an unknown key of kubernetes",
    "aws",
    { "kubernetes.verzion": "1.36.4" },
    [["kubernetes.verzion", "1.36.4", "is not a key that Fenestra knows", "one of version, sizeTier, podCidr, serviceCidr"]],
  ],
  [
    "an unknown key of the control plane",
    "aws",
    { "controlPlane.count": 3 },
    [
      [
        "controlPlane.count",
        3,
        "is not a key that Fenestra knows",
        "one of replicas, size, image, osDiskGb, etcdDiskGb, osDisk, etcdDisk, backup, extraArgs, auditPolicy, admission",
      ],
    ],
  ],
  [
    "an unknown key of a pool",
    "aws",
    { "pools.1.minSize": 3 },
    [["pools[1].minSize", 3, "is not a key that Fenestra knows", `one of ${Object.keys(poolSchema.shape).join(", ")}`]],
  ],
  [
    "an unknown key of autoscale",
    "aws",
    { "pools.1.autoscale": { min: 1, max: 2, step: 1 } },
    [["pools[1].autoscale.step", 1, "is not a key that Fenestra knows", "one of min, max"]],
  ],
  [
    "an unknown key of capacity",
    "aws",
    { "pools.1.capacity": { vcpus: 4, memoryGib: 16, gpus: 1 } },
    [["pools[1].capacity.gpus", 1, "is not a key that Fenestra knows", "one of vcpus, memoryGib"]],
  ],
  [
    "an unknown key of a taint",
    "aws",
    { "pools.1.taints": [{ key: "a", effect: "NoSchedule", operator: "Equal" }] },
    [["pools[1].taints[0].operator", "Equal", "is not a key that Fenestra knows", "one of key, value, effect"]],
  ],
  [
    "an unknown key of access",
    "aws",
    { "access.internal": true },
    [
      [
        "access.internal",
        true,
        "is not a key that Fenestra knows",
        "one of public, private, names, dns, signIn, serviceAccountKeys, workloadIdentity",
      ],
    ],
  ],
  [
    "an unknown key of public access",
    "aws",
    { "access.public": { allow: ["203.0.113.0/24"], deny: [] } },
    [["access.public.deny", [], "is not a key that Fenestra knows", "one of allow"]],
  ],
  [
    "an unknown key of the add-ons",
    "aws",
    { "addons.dashboard": true },
    [["addons.dashboard", true, "is not a key that Fenestra knows", `one of ${Object.keys(addonsSchema.shape).join(", ")}`]],
  ],
  [
    "an unknown key of the mirror",
    "aws",
    { "mirror.images": "https://m.test" },
    [["mirror.images", "https://m.test", "is not a key that Fenestra knows", "one of artifacts, registries"]],
  ],
  ["another cloud", "aws", { cloud: "gcp" }, [["cloud", "gcp", "is not an allowed value", "one of aws, azure. The cloud of this stack."]]],
  [
    "a name with capitals",
    "aws",
    { name: "Prod" },
    [
      [
        "name",
        "Prod",
        "is not a lower-case name",
        "a text of at most 20 characters, lower-case letters, digits and hyphens, a letter first, no hyphen last, such as prod. Name of the cluster; unique in the account and region. Part of every resource's name.",
      ],
    ],
  ],
  [
    "a name that is too long",
    "aws",
    { name: "a23456789012345678901" },
    [
      [
        "name",
        "a23456789012345678901",
        "is too long",
        "a text of at most 20 characters, lower-case letters, digits and hyphens, a letter first, no hyphen last, such as prod. Name of the cluster; unique in the account and region. Part of every resource's name.",
      ],
    ],
  ],
  ["no pools", "aws", { pools: [] }, [["pools", [], "has too few items", "a list of 1 to 60 items. Pools of worker machines."]]],
  [
    "pools that are no list",
    "aws",
    { pools: { linux: {} } },
    [["pools", { linux: {} }, "has the wrong type", "a list of 1 to 60 items. Pools of worker machines."]],
  ],
  [
    "a missing network",
    "aws",
    { network: undefined },
    [["network", undefined, "is missing", "a mapping with the keys cidr, zones, nat, existing, dns, pods, azureCni. The cloud's network."]],
  ],
  [
    "a missing operating system",
    "aws",
    { "pools.0.os": undefined },
    [
      [
        "pools[0].os",
        undefined,
        "is missing",
        `one of ${operatingSystemNames.join(", ")}. Operating system: Ubuntu 24.04, or Windows Server Core of that year.`,
      ],
    ],
  ],
  [
    "a pool name that is too long",
    "aws",
    { "pools.1.name": "windows-server-2022-x" },
    [
      [
        "pools[1].name",
        "windows-server-2022-x",
        "is too long",
        "a text of at most 20 characters, lower-case letters, digits and hyphens, a letter first, no hyphen last, such as win2022. Name of the pool, unique. At most 20 characters; on Azure at most 9 for Windows, zone suffix included.",
      ],
    ],
  ],
  [
    "a pool name that ends in a hyphen",
    "aws",
    { "pools.1.name": "win-" },
    [
      [
        "pools[1].name",
        "win-",
        "is not a lower-case name",
        "a text of at most 20 characters, lower-case letters, digits and hyphens, a letter first, no hyphen last, such as win2022. Name of the pool, unique. At most 20 characters; on Azure at most 9 for Windows, zone suffix included.",
      ],
    ],
  ],
  [
    "a duplicate pool name",
    "aws",
    { "pools.1.name": "linux" },
    [
      [
        "pools[1].name",
        "linux",
        "makes the group name linux, which config.fenestra:pools[0] has already",
        "names that stay unique when perZone appends the zone's last letter or digit",
      ],
    ],
  ],
  [
    "a pool name that a divided pool takes",
    "aws",
    { "pools.0.perZone": true, "pools.1.name": "linux-b" },
    [
      [
        "pools[1].name",
        "linux-b",
        "makes the group name linux-b, which config.fenestra:pools[0] has already",
        "names that stay unique when perZone appends the zone's last letter or digit",
      ],
    ],
  ],
  [
    "ten characters for Windows on Azure",
    "azure",
    { "pools.1.name": "win2022abc" },
    [
      [
        "pools[1].name",
        "win2022abc",
        "makes the group name win2022abc of 10 characters, too long for Windows machines on Azure",
        "at most 9 characters, zone suffix included: a Windows computer name has 15, of which Azure takes 6",
      ],
    ],
  ],
  [
    "nine characters and a zone for Windows on Azure",
    "azure",
    { "pools.1.name": "win2022ab", "pools.1.perZone": true, "pools.1.zones": ["2"] },
    [
      [
        "pools[1].name",
        "win2022ab",
        "makes the group name win2022ab-2 of 11 characters, too long for Windows machines on Azure",
        "at most 9 characters, zone suffix included: a Windows computer name has 15, of which Azure takes 6",
      ],
    ],
  ],
  [
    "a mapping called length where a text belongs",
    "aws",
    { "network.zones": [{ length: { toString: "x" } }] },
    [["network.zones[0]", { length: { toString: "x" } }, "has the wrong type", "a text that is not empty"]],
  ],
];
