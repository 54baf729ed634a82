import { machineSize } from "../../components/model/pools.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";

export interface Hardware {
  readonly vcpus: number;
  /** Memory of the machine size as the cloud names it. */
  readonly memoryGib: number;
  readonly diskGib: number;
}

/**
 * Share of a machine's memory that firmware and kernel keep from the operating system; the same as Karpenter's for
 * unseen machines (kubernetes-sigs/karpenter: VM_MEMORY_OVERHEAD_PERCENT).
 */
const keptByKernel = 0.075;

/** Memory in use, in KiB, without what pods need: most of their programs do not run. */
const usedMemory = 512 * 1024;

/**
 * Kernel settings that a kubelet writes or checks, with the kernel's defaults (kubernetes: pkg/kubelet/cm,
 * setupKernelTunables).
 */
const kernelSettings: Readonly<Record<string, number>> = {
  "vm/overcommit_memory": 0,
  "vm/panic_on_oom": 0,
  "kernel/panic": 0,
  "kernel/panic_on_oops": 0,
  "kernel/keys/root_maxkeys": 1_000_000,
  "kernel/keys/root_maxbytes": 25_000_000,
};

/** Memory that the operating system shows, in KiB. */
function memoryKib({ memoryGib }: Hardware): number {
  return Math.floor(memoryGib * 1024 * 1024 * (1 - keptByKernel));
}

/**
 * Files, by path, that show a machine's hardware and kernel to its programs in place of the host's: processors, memory,
 * swap (a cloud image has none), and the settings that a node's programs write.
 */
export function hardwareFiles(hardware: Hardware): Readonly<Record<string, string>> {
  const { vcpus } = hardware;
  const memory = memoryKib(hardware);
  const free = memory - usedMemory;
  const nothing = { Buffers: 0, Cached: 0, SwapTotal: 0, SwapFree: 0 };
  const figures = { MemTotal: memory, MemFree: free, MemAvailable: free, ...nothing, Hugepagesize: 2048 };
  const processors = Array.from({ length: vcpus }, (_, index) => index);
  return {
    "/proc/cpuinfo": processors
      .map((index) => {
        const fields = [
          `processor\t: ${index}`,
          "vendor_id\t: GenuineIntel",
          "cpu MHz\t\t: 2500.000",
          "physical id\t: 0",
        ];
        return [...fields, `core id\t\t: ${index}`, ""].join("\n");
      })
      .join("\n"),
    "/proc/meminfo": Object.entries(figures)
      .map(([name, value]) => `${name}:${String(value).padStart(15)} kB\n`)
      .join(""),
    "/proc/swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
    ...Object.fromEntries(Object.entries(kernelSettings).map(([name, value]) => [`/proc/sys/${name}`, `${value}\n`])),
    "/sys/devices/system/cpu/online": `0-${vcpus - 1}\n`,
    ...Object.fromEntries(
      processors.flatMap((index) => [
        [`/sys/devices/system/cpu/cpu${index}/topology/core_id`, `${index}\n`],
        [`/sys/devices/system/cpu/cpu${index}/topology/physical_package_id`, "0\n"],
      ]),
    ),
  };
}

/** For a size whose name does not tell them: the smallest that Fenestra uses by default. */
const defaultCapacity = { vcpus: 2, memoryGib: 8 };

/** What the cloud gives a machine of this size. */
export function hardwareOf({ cloud, size, volumes }: SimulatedMachine): Hardware {
  const { vcpus, memoryGib } = machineSize(cloud, size) ?? defaultCapacity;
  return { vcpus, memoryGib, diskGib: volumes.find(({ sizeGib }) => sizeGib !== undefined)?.sizeGib ?? 50 };
}
