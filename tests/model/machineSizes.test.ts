import assert from "node:assert/strict";
import { _InstanceType } from "@aws-sdk/client-ec2";
import { awsMachineSize, awsSizes, azureMachineSize } from "../../components/model/cloudFacts/machineSizes.ts";

type Row = readonly [name: string, vcpus: number, memoryGib: number, arch: "amd64" | "arm64", nests: boolean];

/** Figures of the vendors' tables. */
const aws: readonly Row[] = [
  ["t3.medium", 2, 4, "amd64", false],
  ["t3a.xlarge", 4, 16, "amd64", false],
  ["m5.24xlarge", 96, 384, "amd64", false],
  ["m7i-flex.large", 2, 8, "amd64", false],
  ["m7a.medium", 1, 4, "amd64", false],
  ["m7g.xlarge", 4, 16, "arm64", false],
  ["m8i-flex.xlarge", 4, 16, "amd64", true],
  ["m8i.48xlarge", 192, 768, "amd64", true],
  ["m8i.96xlarge", 384, 1536, "amd64", false],
  ["c5.18xlarge", 72, 144, "amd64", false],
  ["c7gn.large", 2, 4, "arm64", false],
  ["c8id.2xlarge", 8, 16, "amd64", true],
  ["r8i.large", 2, 16, "amd64", true],
  ["r8gd.xlarge", 4, 32, "arm64", false],
];

const azure: readonly Row[] = [
  ["Standard_B1ls", 1, 0.5, "amd64", false],
  ["Standard_B2ms", 2, 8, "amd64", false],
  ["Standard_B20ms", 20, 80, "amd64", false],
  ["Standard_B2ts_v2", 2, 1, "amd64", false],
  ["Standard_B4als_v2", 4, 8, "amd64", false],
  ["Standard_B2pts_v2", 2, 1, "arm64", false],
  ["Standard_D2s_v5", 2, 8, "amd64", true],
  ["Standard_D4as_v4", 4, 16, "amd64", false],
  ["Standard_D4ps_v5", 4, 16, "arm64", false],
  ["Standard_D2ls_v5", 2, 4, "amd64", true],
  ["Standard_D96s_v5", 96, 384, "amd64", true],
  ["Standard_E8ds_v5", 8, 64, "amd64", true],
  ["Standard_E4-2s_v5", 2, 32, "amd64", true],
  ["Standard_E16as_v4", 16, 128, "amd64", false],
  ["Standard_F72s_v2", 72, 144, "amd64", false],
  ["Standard_F2als_v6", 2, 4, "amd64", false],
  ["Standard_F2as_v6", 2, 8, "amd64", false],
  ["Standard_F2ams_v6", 2, 16, "amd64", false],
];

/** Names from which no capacity follows: it must be given. */
const unknown = {
  aws: [
    "",
    "m7i.metal-24xl",
    "m7i.medium",
    "m7i.1xlarge",
    "m7i.xxlarge",
    "m4.large",
    "c5n.large",
    "t3.micro",
    "t3.4xlarge",
    "m7i.9xlarge",
    "c5.3xlarge",
    "m9z.large",
    "x2idn.16xlarge",
    "Standard_D2s_v5",
    "m7i.large ",
  ],
  azure: [
    "",
    "Standard_D0s_v5",
    "Standard_D9s_v5",
    "Standard_D3_v2",
    "Standard_B3ms",
    "Standard_E64s_v3",
    "Standard_DC4s_v3",
    "D2s_v5",
    "m7i.large",
  ],
};

describe("machine sizes", () => {
  for (const [cloud, read, rows] of [
    ["AWS", awsMachineSize, aws],
    ["Azure", azureMachineSize, azure],
  ] as const)
    for (const [name, vcpus, memoryGib, arch, nestedVirtualization] of rows)
      it(`${cloud}: ${name} has ${vcpus} vCPU and ${memoryGib} GiB`, () => {
        assert.deepEqual(read(name), { name, vcpus, memoryGib, arch, nestedVirtualization });
      });
  it("AWS: has EC2's names, no more and no fewer", () => {
    assert.deepEqual([...awsSizes].sort(), Object.values(_InstanceType).sort());
  });
  for (const name of unknown.aws)
    it(`AWS: does not guess ${JSON.stringify(name)}`, () => assert.equal(awsMachineSize(name), undefined));
  for (const name of unknown.azure)
    it(`Azure: does not guess ${JSON.stringify(name)}`, () => assert.equal(azureMachineSize(name), undefined));
});
