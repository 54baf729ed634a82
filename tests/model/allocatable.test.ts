import assert from "node:assert/strict";
import fc from "fast-check";
import { kubeletConfiguration } from "../../components/machine/kubeletConfig.ts";
import { allocatable, reservations } from "../../components/model/allocatable.ts";
import {
  type OperatingSystemName,
  operatingSystem,
  operatingSystemNames,
} from "../../components/model/operatingSystems.ts";
import type { PoolSpec } from "../../components/model/pools.ts";
import { exampleSpec } from "../support/stacks.ts";

const spec = exampleSpec("aws-dev");

function poolOf(name: OperatingSystemName, vcpus: number, memoryGib: number, diskGb: number): PoolSpec {
  const release = operatingSystem(name);
  const example = spec.pools.find(({ os }) => os === release.family) ?? assert.fail();
  const size = { ...example.size, vcpus, memoryGib };
  return { ...example, size, diskGb, reservations: reservations(release, size) };
}

/** MiB or millicores in a kubelet's configuration. */
function inConfiguration(pool: PoolSpec, field: string, key: string) {
  const value: unknown = kubeletConfiguration({ spec, pool })[field];
  assert.ok(typeof value === "object" && value !== null && key in value, `${field}.${key}`);
  const [, number, unit] =
    /^(\d+)(Mi|Gi|m|%)$/.exec(String(Object.entries(value).find(([name]) => name === key)?.[1])) ?? [];
  return Number(number) * (unit === "Gi" ? 1024 : 1);
}

describe("what pods of a node can have", () => {
  it("is never more than the kubelet's own configuration leaves of the machine", () => {
    const systems = fc.constantFrom(...operatingSystemNames);
    const sizes = fc.tuple(
      fc.integer({ min: 1, max: 448 }),
      fc.integer({ min: 2, max: 24_576 }),
      fc.integer({ min: 30, max: 2048 }),
    );
    fc.assert(
      fc.property(systems, sizes, (os, [vcpus, memoryGib, diskGb]) => {
        const pool = poolOf(os, vcpus, memoryGib, diskGb);
        const reserved = (key: string) =>
          inConfiguration(pool, "kubeReserved", key) + inConfiguration(pool, "systemReserved", key);
        const threshold = (key: string) => inConfiguration(pool, "evictionHard", key);
        const told = allocatable(pool);
        const [cpu, memory, storage] = [told.cpu, told.memory, told["ephemeral-storage"]].map((each) =>
          Number.parseInt(each, 10),
        );
        assert.equal(cpu, 1000 * vcpus - reserved("cpu"));
        const rest = 1024 * memoryGib - reserved("memory") - threshold("memory.available");
        assert.ok(
          memory !== undefined && memory <= rest && memory >= rest - (os === "linux" ? 0.08 * 1024 * memoryGib : 0),
        );
        const disk = 1024 * diskGb * (1 - threshold("nodefs.available") / 100) - reserved("ephemeral-storage");
        assert.ok(storage !== undefined && storage < disk && storage > 0.9 * disk - reserved("ephemeral-storage"));
      }),
    );
  });
});

const systems = fc.constantFrom(...operatingSystemNames);
const capacity = fc.record({
  vcpus: fc.integer({ min: 1, max: 448 }),
  memoryGib: fc.double({ min: 2, max: 24576, noNaN: true }),
});

const mib = (text: string) => Number(/^(\d+)Mi$/.exec(text)?.[1]);
const millis = (text: string) => Number(/^(\d+)m$/.exec(text)?.[1]);

/** Both reservations together, in MiB and thousandths of a processor. */
function taken(os: OperatingSystemName, vcpus: number, memoryGib: number): { memory: number; cpu: number } {
  const { kubeReserved, systemReserved } = reservations(operatingSystem(os), { vcpus, memoryGib });
  return {
    memory: mib(kubeReserved.memory) + mib(systemReserved.memory),
    cpu: millis(kubeReserved.cpu) + millis(systemReserved.cpu),
  };
}

describe("reservations", () => {
  for (const [os, vcpus, memoryGib, kube, system] of [
    ["windows-2022", 2, 4, { cpu: "80m", memory: "512Mi" }, { cpu: "200m", memory: "1024Mi" }],
    ["windows-2025", 64, 256, { cpu: "380m", memory: "1024Mi" }, { cpu: "200m", memory: "2048Mi" }],
    ["linux", 96, 384, { cpu: "380m", memory: "4096Mi" }, { cpu: "100m", memory: "256Mi" }],
  ] as const)
    it(`${os} with ${vcpus} vCPU and ${memoryGib} GiB`, () => {
      const disk = os === "linux" ? "2Gi" : "10Gi";
      assert.deepEqual(reservations(operatingSystem(os), { vcpus, memoryGib }), {
        kubeReserved: { ...kube, "ephemeral-storage": "1Gi" },
        systemReserved: { ...system, "ephemeral-storage": disk },
      });
    });

  it("never take more than the machine has", () => {
    fc.assert(
      fc.property(systems, capacity, (os, { vcpus, memoryGib }) => {
        const { memory, cpu } = taken(os, vcpus, memoryGib);
        assert.ok(memory > 0 && memory <= memoryGib * 1024 * 0.5, `${memory} MiB of ${memoryGib} GiB`);
        assert.ok(cpu > 0 && cpu <= vcpus * 1000 * 0.6, `${cpu}m of ${vcpus}`);
      }),
    );
  });

  it("never shrink when the machine grows", () => {
    fc.assert(
      fc.property(systems, capacity, capacity, (os, a, b) => {
        const small = taken(os, Math.min(a.vcpus, b.vcpus), Math.min(a.memoryGib, b.memoryGib));
        const large = taken(os, Math.max(a.vcpus, b.vcpus), Math.max(a.memoryGib, b.memoryGib));
        assert.ok(large.memory >= small.memory && large.cpu >= small.cpu);
      }),
    );
  });
});
