import type { Cloud } from "../../config/schema.ts";
import type { PoolSpec } from "../../model/pools.ts";
import { nodePorts } from "../../model/ports.ts";
import { windowsPaths } from "./paths.ts";

/** A value in the registry. */
export interface RegistryValue {
  readonly path: string;
  readonly name: string;
  readonly type: "DWord" | "String" | "ExpandString";
  readonly value: number | string;
}

/** The operating system's part of `machine.json`. */
export interface WindowsSystem {
  /** Windows features to install; each of them needs the one reboot. */
  readonly features: readonly string[];
  readonly registry: readonly RegistryValue[];
  /** Services that are stopped and disabled. */
  readonly servicesOff: readonly string[];
  /** Ports that outgoing connections take. */
  readonly dynamicPorts: { readonly start: number; readonly count: number };
  /** Calls of w32tm. */
  readonly clock: readonly (readonly string[])[];
  readonly defender: { readonly processes: readonly string[]; readonly paths: readonly string[] };
  readonly pagefile: { readonly initialMb: number; readonly maximumMb: number };
}

/**
 * Everything above the NodePorts: twice Windows' default, since a proxy in the kernel takes a port per connection (Azure/AKS#1375), and
 * clear of the NodePorts (kubernetes/kubernetes#107114).
 */
export const dynamicPorts = { start: nodePorts.last + 1, count: 65_536 - nodePorts.last - 1 } as const;

const machineKey = "HKLM:\\SOFTWARE";
const serviceKey = "HKLM:\\SYSTEM\\CurrentControlSet\\Services";

/** Registry values of every Windows node. */
const registry: readonly RegistryValue[] = [
  // A cumulative update on a running node breaks its network (microsoft/Windows-Containers#516); nodes are replaced instead.
  {
    path: `${machineKey}\\Policies\\Microsoft\\Windows\\WindowsUpdate\\AU`,
    name: "NoAutoUpdate",
    type: "DWord",
    value: 1,
  },
  // Names of file servers are looked up in the pod's compartment (kubernetes-sigs/image-builder, Windows runtime role).
  { path: `${serviceKey}\\hns\\State`, name: "EnableCompartmentNamespace", type: "DWord", value: 1 },
  ...(
    [
      { name: "DumpFolder", type: "ExpandString", value: windowsPaths.dumps },
      { name: "DumpCount", type: "DWord", value: 10 },
      // 1 is a small dump.
      { name: "DumpType", type: "DWord", value: 1 },
    ] as const
  ).map((value) => ({ path: `${machineKey}\\Microsoft\\Windows\\Windows Error Reporting\\LocalDumps`, ...value })),
];

/**
 * Keeps time by the cloud's own clock, because a signature or certificate fails on a machine whose clock is off. On Azure the host is the
 * source (Azure documentation, "Time sync for Windows VMs"): its provider is switched on by the registry, and NTP stays as it is.
 */
const clocks: Readonly<
  Record<Cloud, { readonly calls: readonly (readonly string[])[]; readonly registry: readonly RegistryValue[] }>
> = {
  aws: {
    calls: [["/config", "/manualpeerlist:169.254.169.123,0x9", "/syncfromflags:manual", "/update"]],
    registry: [],
  },
  azure: {
    calls: [["/config", "/update"]],
    registry: [
      {
        path: `${serviceKey}\\W32Time\\TimeProviders\\VMICTimeProvider`,
        name: "Enabled",
        type: "DWord",
        value: 1,
      },
    ],
  },
};

/**
 * Pagefile in MiB: as much as the memory, between 4 and 16 GiB at first, and half as much again at most. Every allocation on Windows is
 * backed by memory or pagefile; without it pods fail while there is memory left.
 */
export function pagefile(memoryGib: number): WindowsSystem["pagefile"] {
  const initialMb = Math.round(Math.min(16, Math.max(4, memoryGib)) * 1024);
  return { initialMb, maximumMb: Math.round(initialMb * 1.5) };
}

/** Settings of the operating system for a pool's machines. */
export function windowsSystem(cloud: Cloud, pool: PoolSpec): WindowsSystem {
  return {
    features: ["Containers", ...(pool.hyperV ? ["Hyper-V"] : [])],
    registry: [...registry, ...clocks[cloud].registry],
    servicesOff: ["wuauserv", "UsoSvc"],
    dynamicPorts,
    clock: clocks[cloud].calls,
    defender: {
      // By name: containerd runs some of them from folders of its own.
      processes: [
        "containerd.exe",
        "containerd-shim-runhcs-v1.exe",
        "kubelet.exe",
        "kube-proxy.exe",
        "flanneld.exe",
        "vmcompute.exe",
      ],
      paths: ["C:\\ProgramData\\containerd", windowsPaths.bin, windowsPaths.cniBin, windowsPaths.kubeletState],
    },
    pagefile: pagefile(pool.size.memoryGib),
  };
}
