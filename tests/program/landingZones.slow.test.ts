import assert from "node:assert/strict";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { listOf, mapOf, type PropertyMap } from "../../plan/program/values.ts";
import { withEveryAddOn } from "../../rehearsal/testkit/cluster.ts";
import { runConfig } from "../support/mocks.ts";
import { configTexts, stackConfig } from "../support/stacks.ts";
import { awsOrganisation, azureLandingZone, judged } from "./landingZones.ts";

/** The same program with something taken away, as it was before. */
const without = (program: RecordedProgram, change: (inputs: PropertyMap) => PropertyMap): RecordedProgram => ({
  ...program,
  resources: program.resources.map((each) => ({ ...each, inputs: change(each.inputs) })),
});

const pools = [
  { name: "linux", os: "linux", spot: true, autoscale: { min: 1, max: 5 } },
  {
    name: "mixed",
    os: "windows-2022",
    spot: true,
    onDemand: { base: 1 },
    size: "m7i.xlarge",
    furtherSizes: ["m6i.xlarge"],
  },
];
const tags = { CostCentre: "4711" };

describe("landing zones that simulate an organisation", () => {
  it("take everything that a cluster on Azure creates, and refused its subnets before", async () => {
    const config = withEveryAddOn({ ...stackConfig("azure-prod"), ...configTexts({ tags }) });
    const { program } = await runConfig("azure-prod", config, "known-outputs");
    const now = judged(program, azureLandingZone);
    assert.deepEqual(now.refusals, []);
    assert.deepEqual([...now.judged].sort(), [...new Set(azureLandingZone.map(({ name }) => name))].sort());
    const bare = without(program, ({ networkSecurityGroup, ...inputs }) =>
      inputs.addressPrefix === undefined
        ? { ...inputs, ...(networkSecurityGroup === undefined ? {} : { networkSecurityGroup }) }
        : inputs,
    );
    assert.deepEqual(
      judged(bare, azureLandingZone).refusals,
      ["control-plane", "private"].flatMap((role) =>
        ["1", "2", "3"].map((zone) => `Deny-Subnet-Without-Nsg: azure-prod-network-${role}-${zone}: no security group`),
      ),
    );
  });

  it("take everything that a cluster on AWS creates and launches, and refused its pools before", async () => {
    const config = withEveryAddOn({ ...stackConfig("aws-prod"), ...configTexts({ tags, pools }) });
    const { program } = await runConfig("aws-prod", config, "known-outputs");
    const rules = awsOrganisation("CostCentre", "eu-central-1");
    const now = judged(program, rules);
    assert.deepEqual(now.refusals, []);
    assert.deepEqual([...now.judged].sort(), [...new Set(rules.map(({ name }) => name))].sort());
    const before = without(program, (inputs) =>
      inputs.tagSpecifications === undefined
        ? inputs
        : {
            ...inputs,
            tagSpecifications: listOf(inputs.tagSpecifications)
              .map(mapOf)
              .filter(({ resourceType }) => resourceType !== "spot-instances-request")
              .map((each) => (each.resourceType === "instance" ? { ...each, tags: {} } : each)),
          },
    );
    assert.deepEqual(judged(before, rules).refusals, [
      "required tag: aws-prod-pool-linux-template: no CostCentre on instance, spot-instances-request",
      "required tag: aws-prod-pool-mixed-template: no CostCentre on instance",
    ]);
  });
});
