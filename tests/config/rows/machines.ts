import type { Row } from "./row.ts";

/** Sizes, images, disks, access, mirrors and add-ons. */
export const machineRows: readonly Row[] = [
  [
    "an unknown size",
    "aws",
    { "pools.0.size": "g5.xlarge" },
    [
      [
        "pools[0].size",
        "g5.xlarge",
        "is not a machine size that Fenestra knows",
        "c5, m5, r5 and later from large on, t3 and later from medium to 2xlarge; or any with capacity",
      ],
    ],
  ],
  [
    "a size of the other cloud",
    "aws",
    { "pools.0.size": "Standard_D2s_v5" },
    [["pools[0].size", "Standard_D2s_v5", "is not a machine size", "an EC2 instance type such as m7i.large"]],
  ],
  [
    "a size that is no name, with a capacity",
    "aws",
    { "pools.0.size": "$(reboot)", "pools.0.capacity": { vcpus: 2, memoryGib: 8 } },
    [["pools[0].size", "$(reboot)", "is not a machine size", "an EC2 instance type such as m7i.large"]],
  ],
  [
    "an Arm size",
    "azure",
    { "pools.1.size": "Standard_D4ps_v5" },
    [["pools[1].size", "Standard_D4ps_v5", "is an Arm size", "an x86 size: the images are x86"]],
  ],
  [
    "a Windows node with 2 GiB",
    "aws",
    { "pools.1.size": "x.y", "pools.1.capacity": { vcpus: 2, memoryGib: 2 } },
    [["pools[1].size", "x.y", "is too small for a Windows node", "2 processors and 4 GiB at least"]],
  ],
  [
    "a node with 1 GiB",
    "azure",
    { "pools.0.size": "Standard_B1s" },
    [["pools[0].size", "Standard_B1s", "is too small for a node", "1 processor and 2 GiB at least"]],
  ],
  [
    "burstable spot machines on Azure",
    "azure",
    { "pools.0.size": "Standard_B2ms", "pools.0.spot": true },
    [["pools[0].size", "Standard_B2ms", "is never given as a spot machine", "a D, E or F size and no promotional one, or spot: false"]],
  ],
  [
    "promotional spot machines on Azure",
    "azure",
    {
      "pools.0.size": "Standard_DS2_v2_Promo",
      "pools.0.capacity": { vcpus: 2, memoryGib: 7 },
      "pools.0.spot": true,
    },
    [
      [
        "pools[0].size",
        "Standard_DS2_v2_Promo",
        "is never given as a spot machine",
        "a D, E or F size and no promotional one, or spot: false",
      ],
    ],
  ],
  ...(["controlPlane.size", "pools.0.size"] as const).map(
    (path): Row => [
      `a size without Premium disks on Azure, ${path}`,
      "azure",
      { [path]: "Standard_D4_v5" },
      [
        [
          path.replace(".0", "[0]"),
          "Standard_D4_v5",
          "cannot have Premium disks, which every machine of Fenestra has",
          "a size with an s after the number, such as Standard_D2s_v5",
        ],
      ],
    ],
  ),
  [
    "Hyper-V without nesting on AWS",
    "aws",
    { "pools.1.hyperV": true },
    [
      [
        "pools[1].size",
        "m7i.large",
        "cannot nest virtualisation, which hyperV needs",
        "a size of c8i, m8i or r8i with at most 192 processors",
      ],
    ],
  ],
  [
    "Hyper-V without nesting on Azure",
    "azure",
    { "pools.1.hyperV": true, "pools.1.size": "Standard_D4as_v4" },
    [
      [
        "pools[1].size",
        "Standard_D4as_v4",
        "cannot nest virtualisation, which hyperV needs",
        "a D or E size of version 3 or later (AMD: 5 or later)",
      ],
    ],
  ],
  ["Hyper-V on Linux", "aws", { "pools.0.hyperV": true }, [["pools[0].hyperV", true, "is meant for Windows pools", "false on Linux"]]],
  [
    "no ACLs on Linux",
    "azure",
    { "pools.0.metadataAcl": false },
    [["pools[0].metadataAcl", false, "is meant for Windows pools", "true on Linux, whose nodes filter packets"]],
  ],
  [
    "an image of the other cloud",
    "aws",
    { "pools.1.image": "20348.5499.260809" },
    [["pools[1].image", "20348.5499.260809", "is neither latest nor a pinned image", "latest or an AMI id, ami-…"]],
  ],
  [
    "a disk that is smaller than the image",
    "azure",
    { "pools.1.diskGb": 64 },
    [["pools[1].diskGb", 64, "is smaller than the Windows image on Azure", "127 GiB at least"]],
  ],
  [
    "a disk in quotes",
    "aws",
    { "pools.1.diskGb": "64" },
    [
      [
        "pools[1].diskGb",
        "64",
        "has the wrong type",
        "a whole number from 30 to 4096. Size of the system disk in GiB. Default 120 on AWS, 128 on Azure for Windows; 50 for Linux.",
      ],
    ],
  ],
  [
    "public access for nobody",
    "aws",
    { "access.public": {} },
    [
      [
        "access.public.allow",
        undefined,
        "is missing",
        "a list of at least 1 item. Networks that may connect. There is no default on purpose.",
      ],
    ],
  ],
  [
    "public access for a host without a prefix",
    "aws",
    { "access.public": { allow: ["203.0.113.7"] } },
    [
      [
        "access.public.allow[0]",
        "203.0.113.7",
        "is not an IPv4 network in CIDR notation",
        "a text, four numbers with dots, a slash and the prefix length, such as 10.0.0.0/16",
      ],
    ],
  ],
  [
    "public access for a network with host bits",
    "aws",
    { "access.public": { allow: ["203.0.113.7/24"] } },
    [["access.public.allow[0]", "203.0.113.7/24", "has host bits that are not zero", "an IPv4 network whose host bits are zero"]],
  ],
  [
    "public access twice",
    "aws",
    { "access.public": { allow: ["203.0.113.0/24", "203.0.113.0/24"] } },
    [["access.public.allow[1]", "203.0.113.0/24", "is listed twice", "each network once"]],
  ],
  [
    "disks of the control plane as the other cloud has them",
    "azure",
    { "controlPlane.osDisk": { type: "gp3" }, "controlPlane.etcdDisk": { type: "Premium_ZRS", iops: 4000 } },
    [
      ["controlPlane.etcdDisk.iops", 4000, "is a setting of AWS", "nothing: only AWS has it"],
      ["controlPlane.etcdDisk.type", "Premium_ZRS", "is a setting of AWS", "nothing: only AWS has it"],
      ["controlPlane.osDisk.type", "gp3", "is a disk of the other cloud", "Premium_LRS, Premium_ZRS, StandardSSD_LRS, StandardSSD_ZRS"],
    ],
  ],
  [
    "private access for everybody, and for the cluster itself",
    "azure",
    { "access.private": { allow: ["0.0.0.0/0", "10.0.0.0/16"] } },
    [
      ["access.private.allow[0]", "0.0.0.0/0", "is more than a network of yours", "networks of /8 to /32"],
      ["access.private.allow[1]", "10.0.0.0/16", "is the cluster's own network, which is let in anyway", "others"],
    ],
  ],
  [
    "a mirror with a password",
    "aws",
    { "mirror.artifacts": "https://me:secret@m.test" },
    [
      [
        "mirror.artifacts",
        "https://me:secret@m.test",
        "carries a user name or a password, which would be written to every machine in clear text",
        "a URL without credentials",
      ],
    ],
  ],
  [
    "a mirror that is no URL",
    "aws",
    { "mirror.artifacts": "m.test" },
    [
      [
        "mirror.artifacts",
        "m.test",
        "is not a valid URL",
        "a text, an http or https URL, such as https://mirror.example.com. Base URL of a copy of the artifacts; the path below it is host and path of the original URL. Digests are checked all the same.",
      ],
    ],
  ],
  [
    "a mirror with a query",
    "aws",
    { "mirror.artifacts": "https://m.test/?a='b'" },
    [
      [
        "mirror.artifacts",
        "https://m.test/?a='b'",
        "has a query, a fragment or characters that are not used",
        "scheme, host, port and a plain path only",
      ],
    ],
  ],
  [
    "a registry that is a path",
    "aws",
    { "mirror.registries": { "../etc": "https://m.test" } },
    [
      [
        'mirror.registries["../etc"]',
        "../etc",
        "is not a registry's host name",
        "a host name with an optional port, such as registry.k8s.io, or _default",
      ],
    ],
  ],
  [
    "time zones of the other system",
    "aws",
    { "pools.0.timeZone": "W. Europe Standard Time", "pools.1.timeZone": "Europe/Berlin" },
    [
      [
        "pools[0].timeZone",
        "W. Europe Standard Time",
        "is no time zone of linux, so no machine of the pool would join; it has the form of a name of Windows",
        "a name of the tz database without spaces, such as Europe/Berlin (timedatectl list-timezones), or UTC",
      ],
      [
        "pools[1].timeZone",
        "Europe/Berlin",
        "is no time zone of windows-2022, so no machine of the pool would join; it has the form of a name of Linux",
        "a name of Windows in words, such as W. Europe Standard Time (tzutil /l), or UTC",
      ],
    ],
  ],
  [
    "more reserved than the machine has, on Linux",
    "aws",
    {
      "pools.0.size": "m7i.large",
      "pools.0.kubelet": {
        kubeReserved: { memory: "16Gi", cpu: "1900m" },
        evictionHard: { "nodefs.available": "95%" },
      },
    },
    [
      [
        'pools[0].kubelet.evictionHard["nodefs.available"]',
        "95%",
        "leaves pods nothing of a m7i.large: kubeReserved, systemReserved and evictionHard keep 48372Mi of ephemeral-storage",
        "amounts that add up to less than the machine's 47683Mi",
      ],
      [
        'pools[0].kubelet.kubeReserved["cpu"]',
        "1900m",
        "leaves pods nothing of a m7i.large: kubeReserved, systemReserved and evictionHard keep 2000m of cpu",
        "amounts that add up to less than the machine's 2000m",
      ],
      [
        'pools[0].kubelet.kubeReserved["memory"]',
        "16Gi",
        "leaves pods nothing of a m7i.large: kubeReserved, systemReserved and evictionHard keep 16840Mi of memory",
        "amounts that add up to less than the machine's 7577Mi",
      ],
    ],
  ],
  [
    "more kept free than the machine has, on Windows",
    "azure",
    { "pools.1.size": "Standard_D2s_v5", "pools.1.kubelet": { evictionHard: { "memory.available": "100Gi" } } },
    [
      [
        'pools[1].kubelet.evictionHard["memory.available"]',
        "100Gi",
        "leaves pods nothing of a Standard_D2s_v5: kubeReserved, systemReserved and evictionHard keep 105370Mi of memory",
        "amounts that add up to less than the machine's 8192Mi",
      ],
    ],
  ],
  [
    "a proxy by another protocol",
    "aws",
    { httpProxy: "socks5://p.test" },
    [
      [
        "httpProxy",
        "socks5://p.test",
        "is not a valid URL",
        "a text, an http or https URL, such as https://mirror.example.com. HTTP proxy for the machines' downloads and image pulls.",
      ],
    ],
  ],
  [
    "samples that are a text",
    "aws",
    { "addons.samples": "yes" },
    [["addons.samples", "yes", "has the wrong type", "true or false. Sample workloads per Windows build. Default on, off in production."]],
  ],
];
