import assert from "node:assert/strict";
import path from "node:path";
import { minorOf, minors } from "../../../components/model/versions.ts";
import { kubeadmProblems } from "../../../rehearsal/programs/checkers/readers.ts";
import { matchSnapshot } from "../../support/snapshot.ts";
import { exampleReleases, fileOf, specAt } from "../windows/examples.ts";
import { exampleControlPlane } from "./examples.ts";

const kubeadm = process.env.FENESTRA_KUBEADM ?? "";

function configOf(cloud: "aws" | "azure", version: string, member = 0): string {
  return fileOf(exampleControlPlane(specAt(cloud, version), member), "/etc/fenestra/kubeadm.yaml");
}

describe("kubeadm configuration of each Kubernetes minor", () => {
  it("is shown for every minor that can be chosen", () => {
    assert.deepEqual(
      exampleReleases.map(minorOf),
      minors.map(({ minor }) => minor),
    );
  });

  for (const version of exampleReleases) {
    for (const cloud of ["aws", "azure"] as const) {
      it(`${version} on ${cloud} is as in the snapshot`, () => {
        const file = `snapshots/kubeadm.${cloud}-prod.${minorOf(version)}.yaml`;
        matchSnapshot(path.join(import.meta.dirname, file), configOf(cloud, version));
      });

      it(`${version} on ${cloud} is accepted by kubeadm for every member`, async function () {
        if (kubeadm === "") {
          console.log("      skipped: FENESTRA_KUBEADM names no kubeadm");
          this.skip();
        }
        for (const { index } of specAt(cloud, version).controlPlane.members)
          assert.deepEqual(await kubeadmProblems(kubeadm, configOf(cloud, version, index)), []);
      });
    }
  }
});
