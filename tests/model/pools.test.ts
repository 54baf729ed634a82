import assert from "node:assert/strict";
import { _InstanceType } from "@aws-sdk/client-ec2";
import fc from "fast-check";
import { poolSchema, type StackConfig, stackSchema } from "../../components/config/schema.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import { awsMachineSize, awsSizes, azureMachineSize } from "../../components/model/cloudFacts/machineSizes.ts";
import { operatingSystem, operatingSystemNames } from "../../components/model/operatingSystems.ts";
import { machineSize, poolGroups, poolSpecs, runtimeClass } from "../../components/model/pools.ts";

const zoneNames = ["eu-central-1a", "eu-central-1b", "eu-central-1c"];

function stackOf(
  pools: readonly object[],
  zones: readonly string[] = zoneNames,
  cloud: "aws" | "azure" = "aws",
): StackConfig {
  return stackSchema.parse({ cloud, name: "c", region: "eu-central-1", network: { zones }, pools });
}

const one = (pool: object) => poolSpecs(stackOf([pool]))[0] ?? assert.fail();

describe("pools", () => {
  it("have a RuntimeClass that selects exactly the nodes of its build", () => {
    const names = operatingSystemNames;
    for (const classOf of names)
      for (const isolation of ["process", "hyperv"] as const) {
        const found = runtimeClass(operatingSystem(classOf), isolation);
        assert.equal(found === undefined, classOf === "linux");
        for (const nodeOf of names)
          for (const hyperV of [false, true]) {
            if (found === undefined || (nodeOf === "linux" && hyperV)) continue;
            const { scheduling } = one({ name: "p", os: nodeOf, hyperV });
            const labels: Record<string, string> = { ...scheduling.kubeletLabels, ...scheduling.ownLabels };
            const selected = Object.entries(found.nodeSelector).every(([key, value]) => labels[key] === value);
            assert.equal(selected, nodeOf === classOf && (isolation === "process" || hyperV));
            if (!selected) continue;
            assert.deepEqual(
              scheduling.taints.filter(
                (taint) =>
                  !found.tolerations.some(
                    ({ key, value, effect }) => key === taint.key && value === taint.value && effect === taint.effect,
                  ),
              ),
              [],
            );
          }
      }
    assert.equal(runtimeClass(operatingSystem("windows-2019"), "hyperv")?.name, "windows-2019-hyperv");
    assert.equal(runtimeClass(operatingSystem("windows-2019"), "hyperv")?.handler, "runhcs-wcow-hypervisor");
  });

  it("that are divided by zone keep their count, evenly and the first zones first", () => {
    fc.assert(
      fc.property(fc.nat(1000), fc.integer({ min: 1, max: 3 }), (count, zones) => {
        const used = zoneNames.slice(0, zones);
        const specs = poolSpecs(stackOf([{ name: "p", os: "linux", count, perZone: true }], used));
        const counts = specs.map((spec) => spec.count);
        assert.deepEqual(
          specs.map(({ name }) => name),
          ["p-a", "p-b", "p-c"].slice(0, zones),
        );
        assert.deepEqual(
          specs.map((spec) => spec.zones),
          used.map((zone) => [zone]),
        );
        assert.equal(
          counts.reduce((sum, n) => sum + n, 0),
          count,
        );
        assert.ok(Math.max(...counts) - Math.min(...counts) <= 1);
        assert.deepEqual(
          [...counts].sort((a, b) => b - a),
          counts,
        );
      }),
    );
  });

  it("that are divided and autoscaled start each group inside its bounds", () => {
    fc.assert(
      fc.property(
        fc.tuple(fc.nat(50), fc.nat(50)).map(([a, b]) => ({ min: Math.min(a, b), max: Math.max(a, b, 1) })),
        fc.integer({ min: 1, max: 3 }),
        fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
        (autoscale, zones, share) => {
          const { min, max } = autoscale;
          const count = share === null ? {} : { count: Math.round((min + (max - min) * share) * zones) };
          const specs = poolSpecs(
            stackOf([{ name: "p", os: "linux", autoscale, perZone: true, ...count }], zoneNames.slice(0, zones)),
          );
          for (const spec of specs) {
            assert.deepEqual(spec.autoscale, autoscale);
            assert.ok(spec.count >= min && spec.count <= max, `${spec.count} in ${min}..${max}`);
          }
        },
      ),
    );
  });

  it("stay in the zones they are given", () => {
    const pool = poolSchema.parse({ name: "p", os: "linux", zones: ["eu-central-1c"], perZone: true });
    assert.deepEqual(poolGroups(pool, zoneNames), [{ name: "p-c", zones: ["eu-central-1c"] }]);
    assert.deepEqual(poolGroups({ ...pool, perZone: false }, zoneNames), [{ name: "p", zones: ["eu-central-1c"] }]);
  });

  it("take the capacity that the stack file states, and else what the name tells", () => {
    assert.deepEqual(machineSize("aws", "u7i-6tb.112xlarge", { vcpus: 448, memoryGib: 6144 }), {
      name: "u7i-6tb.112xlarge",
      vcpus: 448,
      memoryGib: 6144,
      arch: "amd64",
      nestedVirtualization: false,
    });
    assert.equal(machineSize("aws", "m8i.large", { vcpus: 2, memoryGib: 7 })?.nestedVirtualization, true);
    assert.equal(machineSize("aws", "m7g.large", { vcpus: 2, memoryGib: 8 })?.arch, "arm64");
    assert.equal(machineSize("azure", "Standard_L8s_v3"), undefined);
  });
});

type Row = readonly [name: string, vcpus: number, memoryGib: number, nests?: boolean, arch?: "amd64" | "arm64"];

/** Figures of the vendors' tables. */
const aws: readonly Row[] = [
  ["t3.medium", 2, 4],
  ["m7i-flex.large", 2, 8],
  ["m7a.medium", 1, 4],
  ["m8i.48xlarge", 192, 768, true],
  ["m8i.96xlarge", 384, 1536],
  ["c5.18xlarge", 72, 144],
  ["m8idn.large", 2, 8],
  ["r8gd.xlarge", 4, 32, false, "arm64"],
];

const azure: readonly Row[] = [
  ["Standard_B1ls", 1, 0.5],
  ["Standard_B2ms", 2, 8],
  ["Standard_B2ts_v2", 2, 1],
  ["Standard_D4as_v4", 4, 16],
  ["Standard_D4ps_v5", 4, 16, false, "arm64"],
  ["Standard_D2ls_v5", 2, 4, true],
  ["Standard_E4-2s_v5", 2, 32, true],
  ["Standard_F72s_v2", 72, 144],
  ["Standard_F2als_v6", 2, 4],
  ["Standard_F2ams_v6", 2, 16],
];

/** Names from which no capacity follows: it must be given. */
const unknown = {
  aws: ["m7i.metal-24xl", "m7i.medium", "m4.large", "c5n.large", "t3.micro", "m9z.large"],
  azure: ["Standard_D9s_v5", "Standard_E64s_v3", "Standard_DC4s_v3", "m7i.large"],
};

describe("machine sizes", () => {
  for (const [cloud, read, rows] of [
    ["AWS", awsMachineSize, aws],
    ["Azure", azureMachineSize, azure],
  ] as const)
    for (const [name, vcpus, memoryGib, nestedVirtualization = false, arch = "amd64"] of rows)
      it(`${cloud}: ${name} has ${vcpus} vCPU and ${memoryGib} GiB`, () => {
        assert.deepEqual(read(name), { name, vcpus, memoryGib, arch, nestedVirtualization });
      });
  it("AWS: has EC2's names, no more and no fewer", () => {
    assert.deepEqual([...awsSizes].sort(), Object.values(_InstanceType).sort());
  });
  it("have another of their kind, where one is not to be had", () => {
    const [aws, azure] = [cloudFacts.aws, cloudFacts.azure].map(({ sizes }) => sizes.another);
    assert.deepEqual(["m7i.large", "c7i.xlarge", "p5.48xlarge", "u.x"].map(aws ?? assert.fail), [
      ...["m6i.large", "c6i.xlarge", "m7i.48xlarge", "m6i.large"],
    ]);
    assert.deepEqual(["Standard_D2s_v5", "Standard_E4ads_v5", "Standard_B2ms"].map(azure ?? assert.fail), [
      ...["Standard_D2as_v5", "Standard_E4ds_v5", "Standard_D2s_v5"],
    ]);
  });
  for (const [cloud, read] of [
    ["aws", awsMachineSize],
    ["azure", azureMachineSize],
  ] as const)
    for (const name of unknown[cloud])
      it(`${cloud}: does not guess ${JSON.stringify(name)}`, () => assert.equal(read(name), undefined));
});
