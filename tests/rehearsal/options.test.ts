import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { loadConfig } from "../../components/config/load.ts";
import { stackNames } from "../../components/config/stackFile.ts";
import { defaultRelease, minorOf, namedVersions } from "../../components/model/releases.ts";
import { expectedPools } from "../../rehearsal/checks/selection.ts";
import { addOnFiles, moduleOf, programOf } from "../../rehearsal/programs/addOns.ts";
import { addOnPrograms } from "../../rehearsal/programs/addOnTable.ts";
import { withUnknownFlag } from "../../rehearsal/run/addOnBreakages.ts";
import { withEveryAddOn } from "../../rehearsal/run/everyAddOn.ts";
import { breakages } from "../../rehearsal/run/negativeControls.ts";
import { combinations, manifestsOf } from "../kubernetes/switches.ts";
import { stackConfig, testStacks } from "../support/stacks.ts";

describe("a rehearsal with every add-on", () => {
  for (const stack of stackNames(testStacks))
    it(`has a valid config with a node in every pool: ${stack}`, () => {
      const config = loadConfig(withEveryAddOn(stackConfig(stack)));
      assert.ok(config.addons.samples === true && config.addons.exporters && config.addons.gmsa !== undefined);
      for (const { name, count } of expectedPools(config)) assert.ok(count > 0, name);
      assert.equal(config.network.policies, config.network.pods === "flannel" ? "linux" : "none");
      const written = loadConfig(stackConfig(stack));
      const pools = config.pools.map(({ name, os, size }) => [name, os, size]);
      const wanted = written.pools.map(({ name, os, size }) => [name, os, size]);
      assert.deepEqual(pools, wanted);
    });
});

describe("negative controls", () => {
  it("have each a test", () => {
    const folder = import.meta.dirname;
    const tests = globSync("*.test.ts", { cwd: folder }).map((name) => readFileSync(path.join(folder, name), "utf8"));
    const untested = Object.keys(breakages).filter((name) => !tests.some((text) => text.includes(`"${name}"`)));
    assert.deepEqual(untested, []);
  });
});

describe("programs of add-ons", () => {
  it("are modules of the release that their image is made of", () => {
    const versions = new Map(
      namedVersions(undefined, minorOf(defaultRelease)).map(({ name, version }) => [name, version]),
    );
    const built = addOnPrograms.map((program) => moduleOf(program).split("@")[1]);
    const wanted = addOnPrograms.map(({ image, version }) => {
      const own = image.split(":")[1] ?? `v${versions.get(image)?.split("-")[0]}`;
      // What the module proxy lacks is built of the release before.
      return version !== undefined && version < own ? version : own;
    });
    assert.deepEqual(built, wanted);
  });

  it("are built for the clouds that have them", () => {
    const onAws = [...addOnFiles("aws").keys()];
    const onAzure = [...addOnFiles("azure").keys()];
    assert.deepEqual([...new Set([...onAws, ...onAzure])].sort(), addOnPrograms.map(({ name }) => name).sort());
    const onAwsAlone = onAws.filter((name) => !onAzure.includes(name));
    assert.deepEqual(onAwsAlone, ["aws-ebs-csi-driver", "aws-cloud-controller-manager"]);
  });

  it("get each an unknown flag by one of two controls, but for kubeadm's", () => {
    const objects = combinations.flatMap(({ spec }) => manifestsOf(spec)).map((each) => ({ ...each }));
    const broken = [true, false].map((ofCloud) => objects.map(withUnknownFlag(ofCloud)));
    const images: string[] = [];
    JSON.stringify(broken, (_, value) => {
      if (value?.args?.includes("--no-such-flag") === true) images.push(value.image);
      return value;
    });
    const found = new Set(images.map((image) => programOf(image)?.name));
    assert.deepEqual(
      [...found].toSorted(),
      addOnPrograms
        .map(({ name }) => name)
        .filter((name) => name !== "coredns")
        .toSorted(),
    );
  });

  it("run in the image of their name, and where kubeadm chooses the version only in that one", () => {
    const names = (...references: readonly string[]) => references.map((reference) => programOf(reference)?.name);
    const detector = "registry.k8s.io/node-problem-detector/node-problem-detector";
    assert.deepEqual(names(`${detector}:v1@sha256:0`, `${detector}-windows:v1`), ["node-problem-detector", undefined]);
    const dns = addOnPrograms.find(({ name }) => name === "coredns")?.image ?? "";
    assert.deepEqual(names(dns, `${dns}0`, dns.split(":")[0] ?? ""), ["coredns", undefined, undefined]);
  });
});
