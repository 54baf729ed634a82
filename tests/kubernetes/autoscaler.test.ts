import assert from "node:assert/strict";
import { groupTags as awsTags } from "../../components/aws/poolGroup.ts";
import { groupTags as azureTags } from "../../components/azure/poolGroup.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { specOf } from "../support/mocks.ts";
import { argsOf, manifest, manifestsOf } from "./switches.ts";

const pool = { name: "p", os: "windows-2022", perZone: true, autoscale: { min: 0, max: 3 } };

/** A cluster with one pool that is divided by zones and has this many labels, and ten tags. */
function clusterOf(cloud: ClusterSpec["cloud"], labels = 0): ClusterSpec {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, "y"]));
  return specOf(`${cloud}-dev`, {
    network: { zones: cloud === "aws" ? ["eu-central-1a", "eu-central-1b"] : ["1", "2"] },
    pools: [{ ...pool, labels: many(labels) }],
    tags: many(10),
  });
}

/** Arguments of the autoscaler. */
const argsIn = (spec: ClusterSpec): readonly string[] => {
  const name = "cluster-autoscaler";
  return argsOf(manifest(manifestsOf(spec), "Deployment", name), name);
};

describe("the autoscaler", () => {
  for (const cloud of ["aws", "azure"] as const) {
    it(`on ${cloud} takes the groups of a divided pool for similar`, () => {
      const spec = clusterOf(cloud);
      const prefix = "--balancing-ignore-label=";
      const ignored = argsIn(spec).filter((text) => text.startsWith(prefix));
      const [first, second] = spec.pools.map(({ scheduling }) => ({
        ...scheduling.ownLabels,
        ...scheduling.kubeletLabels,
      }));
      assert.ok(first !== undefined && second !== undefined);
      const different = Object.keys(first).filter((key) => Reflect.get(first, key) !== Reflect.get(second, key));
      assert.deepEqual(different, ["fenestra.dev/pool"]);
      // Their payloads name the pool, so the label of the payload differs too.
      for (const label of [...different, "fenestra.dev/payload"])
        assert.ok(ignored.includes(`${prefix}${label}`), label);
    });

    it(`on ${cloud} finds all that it must know in the tags of a group, of which there are 50 at most`, () => {
      const count = (spec: ClusterSpec): number => {
        const [group] = spec.pools;
        assert.ok(group !== undefined);
        return cloud === "aws" ? awsTags(spec, group).length : Object.keys(azureTags(spec, group)).length;
      };
      const most = { aws: 26, azure: 25 }[cloud];
      assert.equal(count(clusterOf(cloud, most)), 50);
      assert.throws(() => clusterOf(cloud, most + 1), /too many labels and taints/);
    });
  }
});
