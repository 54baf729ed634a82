import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { namedVersions } from "../../components/model/releases.ts";
import { addOnFiles, addOnPrograms, moduleOf, programOf } from "../../rehearsal/programs/addOns.ts";

describe("programs of add-ons", () => {
  it("are in the table of the documentation", () => {
    const text = readFileSync(new URL("../../docs/architecture.md", import.meta.url), "utf8");
    const [, section = ""] = text.split("### Programs of add-ons");
    const missing = addOnPrograms.filter(({ module }) => !section.includes(`\`${module}\``));
    const names = missing.map(({ name }) => name);
    assert.deepEqual(names, []);
  });

  it("are modules of the release that their image is made of", () => {
    const versions = new Map(namedVersions().map(({ name, version }) => [name, version]));
    const built = addOnPrograms.map((program) => moduleOf(program).split("@")[1]);
    const wanted = addOnPrograms.map(({ image }) => image.split(":")[1] ?? `v${versions.get(image)?.split("-")[0]}`);
    assert.deepEqual(built, wanted);
  });

  it("are built for the clouds that have them", () => {
    const onAws = [...addOnFiles("aws").keys()];
    const onAzure = [...addOnFiles("azure").keys()];
    assert.deepEqual([...new Set([...onAws, ...onAzure])].sort(), addOnPrograms.map(({ name }) => name).sort());
    const onAwsAlone = onAws.filter((name) => !onAzure.includes(name));
    assert.deepEqual(onAwsAlone, ["aws-ebs-csi-driver", "csi-attacher", "csi-resizer"]);
  });

  it("run in the image of their name, and where kubeadm chooses the version only in that one", () => {
    const names = (...references: readonly string[]) => references.map((reference) => programOf(reference)?.name);
    const detector = "registry.k8s.io/node-problem-detector/node-problem-detector";
    assert.deepEqual(names(`${detector}:v1@sha256:0`, `${detector}-windows:v1`), ["node-problem-detector", undefined]);
    const dns = addOnPrograms.find(({ name }) => name === "coredns")?.image ?? "";
    assert.deepEqual(names(dns, `${dns}0`, dns.split(":")[0] ?? ""), ["coredns", undefined, undefined]);
  });
});
