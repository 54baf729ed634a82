import assert from "node:assert/strict";
import { CorpusCluster, differences, share, shareInManual } from "./corpusRun.ts";

for (const [minor, version] of [["1.37", "1.37.1"]] as const)
  describe(`published workloads on Kubernetes ${minor}`, function () {
    // The first run on a machine builds the programs.
    this.timeout(60 * 60_000);
    let cluster: CorpusCluster;

    before(async function () {
      cluster = await CorpusCluster.start(this, minor);
    });

    it("are placed, warned of and refused as the table says", async () => {
      await cluster.guard(version);
      const outcomes = await cluster.run("night");
      assert.deepEqual(differences(outcomes), []);
      assert.equal(shareInManual(minor), share(outcomes));
    });
  });
