import assert from "node:assert/strict";
import { loadConfig } from "../../components/config/load.ts";
import type { Cloud } from "../../components/config/schema.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { planOf } from "../kubernetes/switches.ts";
import type { PlainConfig } from "../support/changedAt.ts";
import { runSpec } from "../support/mocks.ts";
import { configTexts } from "../support/stacks.ts";

/** The same cluster on both clouds; only what each cloud spells in its own way differs. */
function configOf(cloud: Cloud, more: PlainConfig = {}): PlainConfig {
  const zones = cloud === "aws" ? ["eu-central-1a", "eu-central-1b", "eu-central-1c"] : ["1", "2", "3"];
  return {
    cloud,
    name: "same",
    region: cloud === "aws" ? "eu-central-1" : "westeurope",
    network: { zones },
    controlPlane: { replicas: 3 },
    access: { public: { allow: ["203.0.113.0/24"] } },
    pools: [
      { name: "linux", os: "linux", count: 2, labels: { "example.com/a": "b" } },
      { name: "win2019", os: "windows-2019" },
      { name: "w22", os: "windows-2022", perZone: true, autoscale: { min: 0, max: 3 } },
      { name: "w25", os: "windows-2025", spot: true, taints: [{ key: "x", value: "y", effect: "NoSchedule" }] },
    ],
    ...more,
  };
}

const specOf = (cloud: Cloud, more: PlainConfig = {}): ClusterSpec =>
  clusterSpec(loadConfig(configTexts(configOf(cloud, more))));

const { program: aws } = await runSpec(specOf("aws"));
const { program: azure } = await runSpec(specOf("azure"));

/** A text without what the clouds call the zones of the divided pool. */
const plain = (text: string): string => text.replaceAll(/w22-[abc123]/g, "w22-zone");

/** Components with names and parents, `azure` and `aws` alike. */
function components({ resources }: RecordedProgram): readonly string[] {
  const types = new Map(resources.map(({ urn, name }) => [urn, name]));
  return resources
    .filter(({ custom, type }) => !custom && type !== "pulumi:pulumi:Stack")
    .map(({ type, name, parent }) =>
      plain(`${type.replace(/:(aws|azure):/, ":cloud:")} ${name} in ${types.get(parent ?? "") ?? "the stack"}`),
    )
    .sort();
}

/** Objects of Kubernetes by kind and name. */
const objects = (spec: ClusterSpec, addOn?: string): readonly string[] =>
  planOf(spec)
    .filter(({ name }) => addOn === undefined || name === addOn)
    .flatMap(({ manifests }) => manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`))
    .sort();

/** Add-ons that speak to the cloud, so that each cloud has its own. */
const cloudAddOns = ["cloud-controller", "storage"];

/** AWS alone: a bucket for machines' scripts, for which its user data has no room. */
const awsOnly = ["Scripts"];

describe("parity of the clouds", () => {
  it("the same outputs, with the same parts", () => {
    const shapeOf = ({ outputs }: RecordedProgram): unknown =>
      JSON.parse(
        JSON.stringify(outputs, (key, value) =>
          key === "" || key === "pools" || /^\d+$/.test(key) ? value : typeof value,
        ),
      );
    assert.deepEqual(shapeOf(azure), shapeOf(aws));
  });

  it("the same components, with the same names and parents", () => {
    const own = components(azure);
    const alone = new RegExp(`^fenestra:cloud:(${awsOnly.join("|")}) `);
    const wanted = components(aws).filter((each) => !alone.test(each));
    assert.deepEqual(own, wanted);
    assert.ok(!own.some((each) => alone.test(each)));
    assert.ok(own.length > 30);
    assert.ok(own.includes("fenestra:cloud:Pool same-pool-linux in same"));
  });

  it("the same labels, taints and sizes of every pool", () => {
    const scheduling = (spec: ClusterSpec): unknown =>
      spec.pools.map(({ path, size, zones, image, diskGb, ...same }) =>
        JSON.parse(plain(JSON.stringify({ ...same, name: plain(same.name), release: same.release.name }))),
      );
    const own = scheduling(specOf("azure"));
    assert.deepEqual(own, scheduling(specOf("aws")));
    assert.ok(JSON.stringify(own).includes('"w22-zone"'));
  });

  it("the same objects in the cluster, but for each cloud's own add-ons", () => {
    const names = (spec: ClusterSpec): readonly string[] => planOf(spec).map(({ name }) => name);
    const specs = { aws: specOf("aws"), azure: specOf("azure") };
    assert.deepEqual(names(specs.azure), names(specs.aws));
    for (const name of names(specs.aws)) {
      if (cloudAddOns.includes(name)) assert.notDeepEqual(objects(specs.azure, name), objects(specs.aws, name), name);
      else assert.deepEqual(objects(specs.azure, name), objects(specs.aws, name), name);
    }
    assert.ok(objects(specs.aws).length > 40);
  });
});
