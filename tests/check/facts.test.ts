import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as facts from "../../check/facts.ts";
import { registryConfigDir } from "../../components/machine/registryMirrors.ts";
import { sampleAccount, tokenFacts } from "../../components/model/cloudFacts/identities.ts";
import { discoveryPath, keySetPath } from "../../components/model/keyLists.ts";
import { monitoringNamespace } from "../../components/model/nodeSettings.ts";
import { windowsReleases } from "../../components/model/operatingSystems.ts";
import { buildLabel } from "../../components/model/pools.ts";
import { ports } from "../../components/model/ports.ts";
import { cniSpecVersion, minors } from "../../components/model/releases.ts";
import { lateSnapshotHours } from "../../components/model/timings.ts";

describe("what checks expect", () => {
  it("is what the program makes, though neither reads the other", () => {
    const { api, etcdClient, kubelet, nodeExporter: linuxExporter, windowsExporter } = ports;
    assert.deepEqual(facts.ports, { api, etcdClient, kubelet, linuxExporter, windowsExporter });
    const wanted = Object.fromEntries(windowsReleases.map(({ name, build }) => [name.slice("windows-".length), build]));
    assert.deepEqual(facts.windowsBuilds, wanted);
    for (const { minor, coredns } of minors) assert.equal(facts.coreDnsTag(`${minor}.0`), coredns);
    assert.deepEqual(facts.issuerPaths, { discovery: discoveryPath, keySet: keySetPath });
    assert.deepEqual(facts.tokenAudiences, { aws: tokenFacts.aws.audience, azure: tokenFacts.azure.audience });
    const policies = readFileSync(new URL("../../components/kubernetes/guardRails/pods.yaml", import.meta.url), "utf8");
    for (const label of Object.values(facts.allowingLabels))
      assert.ok(policies.includes(`labels[?"${label}"].orValue("") != "allowed"`), label);
    assert.deepEqual(
      [
        facts.windowsBuildLabel,
        facts.cniVersion,
        facts.registryFolder,
        facts.sampleAccount,
        facts.exporterNamespace,
        facts.lateSnapshotHours,
      ],
      [buildLabel, cniSpecVersion, registryConfigDir.linux, sampleAccount, monitoringNamespace, lateSnapshotHours],
    );
  });
});
