import type { Row } from "./row.ts";

/** Sizes, images, disks, access, mirrors and add-ons. */
export const machineRows: readonly Row[] = [
  ["an unknown size", "aws", { "pools.0.size": "g5.xlarge" }],
  ["a size of the other cloud", "aws", { "pools.0.size": "Standard_D2s_v5" }],
  ["a size that is no name, with a capacity", "aws", { "pools.0.size": "$(reboot)", "pools.0.capacity": { vcpus: 2, memoryGib: 8 } }],
  ["an Arm size", "azure", { "pools.1.size": "Standard_D4ps_v5" }],
  ["a Windows node with 2 GiB", "aws", { "pools.1.size": "x.y", "pools.1.capacity": { vcpus: 2, memoryGib: 2 } }],
  ["a node with 1 GiB", "azure", { "pools.0.size": "Standard_B1s" }],
  ["burstable spot machines on Azure", "azure", { "pools.0.size": "Standard_B2ms", "pools.0.spot": true }],
  [
    "promotional spot machines on Azure",
    "azure",
    { "pools.0.size": "Standard_DS2_v2_Promo", "pools.0.capacity": { vcpus: 2, memoryGib: 7 }, "pools.0.spot": true },
  ],
  ...(["controlPlane.size", "pools.0.size"] as const).map(
    (path): Row => [`a size without Premium disks on Azure, ${path}`, "azure", { [path]: "Standard_D4_v5" }],
  ),
  ["Hyper-V without nesting on AWS", "aws", { "pools.1.hyperV": true }],
  ["Hyper-V without nesting on Azure", "azure", { "pools.1.hyperV": true, "pools.1.size": "Standard_D4as_v4" }],
  ["Hyper-V on Linux", "aws", { "pools.0.hyperV": true }],
  ["no ACLs on Linux", "azure", { "pools.0.metadataAcl": false }],
  ["an image of the other cloud", "aws", { "pools.1.image": "20348.5499.260809" }],
  ["a disk that is smaller than the image", "azure", { "pools.1.diskGb": 64 }],
  ["a disk in quotes", "aws", { "pools.1.diskGb": "64" }],
  ["public access for nobody", "aws", { "access.public": {} }],
  ["public access for a host without a prefix", "aws", { "access.public": { allow: ["203.0.113.7"] } }],
  ["public access for a network with host bits", "aws", { "access.public": { allow: ["203.0.113.7/24"] } }],
  ["public access twice", "aws", { "access.public": { allow: ["203.0.113.0/24", "203.0.113.0/24"] } }],
  [
    "disks of the control plane as the other cloud has them",
    "azure",
    { "controlPlane.osDisk": { type: "gp3" }, "controlPlane.etcdDisk": { type: "Premium_ZRS", iops: 4000 } },
  ],
  ["private access for everybody, and for the cluster itself", "azure", { "access.private": { allow: ["0.0.0.0/0", "10.0.0.0/16"] } }],
  ["a mirror with a password", "aws", { "mirror.artifacts": "https://me:secret@m.test" }],
  ["a mirror that is no URL", "aws", { "mirror.artifacts": "m.test" }],
  ["a mirror with a query", "aws", { "mirror.artifacts": "https://m.test/?a='b'" }],
  ["a registry that is a path", "aws", { "mirror.registries": { "../etc": "https://m.test" } }],
  ["time zones of the other system", "aws", { "pools.0.timeZone": "W. Europe Standard Time", "pools.1.timeZone": "Europe/Berlin" }],
  [
    "more reserved than the machine has, on Linux",
    "aws",
    {
      "pools.0.size": "m7i.large",
      "pools.0.kubelet": { kubeReserved: { memory: "16Gi", cpu: "1900m" }, evictionHard: { "nodefs.available": "95%" } },
    },
  ],
  [
    "more kept free than the machine has, on Windows",
    "azure",
    { "pools.1.size": "Standard_D2s_v5", "pools.1.kubelet": { evictionHard: { "memory.available": "100Gi" } } },
  ],
  ["a proxy by another protocol", "aws", { httpProxy: "socks5://p.test" }],
  ["samples that are a text", "aws", { "addons.samples": "yes" }],
];
