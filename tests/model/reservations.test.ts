import assert from "node:assert/strict";
import fc from "fast-check";
import { reservations } from "../../components/model/allocatable.ts";
import {
  type OperatingSystemName,
  operatingSystem,
  operatingSystemNames,
} from "../../components/model/operatingSystems.ts";

const systems = fc.constantFrom(...operatingSystemNames);
const capacity = fc.record({
  vcpus: fc.integer({ min: 1, max: 448 }),
  memoryGib: fc.double({ min: 2, max: 24576, noNaN: true }),
});

const mib = (text: string): number => Number(/^(\d+)Mi$/.exec(text)?.[1]);
const millis = (text: string): number => Number(/^(\d+)m$/.exec(text)?.[1]);

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
    ["windows-2022", 2, 8, { cpu: "80m", memory: "922Mi" }, { cpu: "200m", memory: "2048Mi" }],
    ["windows-2019", 4, 16, { cpu: "100m", memory: "1024Mi" }, { cpu: "200m", memory: "2048Mi" }],
    ["windows-2025", 64, 256, { cpu: "380m", memory: "1024Mi" }, { cpu: "200m", memory: "2048Mi" }],
    ["linux", 1, 2, { cpu: "70m", memory: "512Mi" }, { cpu: "100m", memory: "256Mi" }],
    ["linux", 2, 8, { cpu: "80m", memory: "1844Mi" }, { cpu: "100m", memory: "256Mi" }],
    ["linux", 4, 16, { cpu: "100m", memory: "2663Mi" }, { cpu: "100m", memory: "256Mi" }],
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
