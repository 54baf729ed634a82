// Sees what nothing faster does: configuration files and texts as the code of the programs reads them that they are for.
import assert from "node:assert/strict";
import type { Context } from "mocha";
import { z } from "zod";
import { azureCloudConfig } from "../../components/kubernetes/addOns/cloudController.ts";
import { registryMirrorFiles } from "../../components/machine/registryMirrors.ts";
import { registryLogin } from "../../components/model/nodeSettings.ts";
import { defaultRelease, minorOf } from "../../components/model/releases.ts";
import { flannelConflist, flannelNetConf } from "../../components/podNetworks/flannel/network.ts";
import { manifest, manifestsOf } from "../kubernetes/switches.ts";
import { goRun } from "../support/skip.ts";
import { exampleSpec } from "../support/stacks.ts";
import { exampleReleases } from "./examples.ts";
import { readConfigs } from "./readConfigs.ts";

/** A text for `rehearsal/runtime/readers`. */
interface Text {
  readonly kind: "azure.json" | "cni" | "hosts.toml" | "net-conf.json" | "node-problem-detector";
  readonly text: string;
  /** Registry that a hosts.toml is for. */
  readonly registry?: string;
}

const answers = z.array(z.strictObject({ problem: z.string().optional(), read: z.array(z.string()).optional() }));

/** What the programs make of texts. */
function read(test: Context, ...texts: readonly Text[]) {
  const { status, stdout, stderr } = goRun(test, "rehearsal/runtime/readers", "./texts", [], JSON.stringify(texts));
  assert.equal(status, 0, stderr);
  return answers.parse(JSON.parse(stdout));
}

const example = exampleSpec("azure-prod");
const spec = { ...example, addons: { ...example.addons, nodeProblemDetector: true } };
const objects = manifestsOf(spec);
const data = (name: string): Readonly<Record<string, unknown>> => manifest(objects, "ConfigMap", name).data ?? {};

const id = "00000000-0000-4000-8000-000000000000";
const azureJson = azureCloudConfig({
  tenantId: id,
  subscriptionId: id,
  resourceGroup: "azure-prod",
  location: "westeurope",
  vnetResourceGroup: "azure-prod",
  vnetName: "azure-prod",
  subnetName: "private-1",
  securityGroupName: "workers",
  identityClientId: id,
  tagsMap: { "fenestra:cluster": "azure-prod", owner: "a, b = c" },
});
const mirrors = {
  _default: "https://all.example.com",
  "docker.io": "https://mirror.example.com/v2/hub/",
  "mcr.microsoft.com": "https://mirror.example.com:8443",
  "registry.example.com:5000": "http://mirror.example.com/path",
};
const windowsCni = flannelConflist(spec, { metadataAcl: true });
const credentials = { proxy: false, registries: ["docker.io", "mirror.example.com:8443", "own.example.com"] };
const hostsToml = registryMirrorFiles({ os: "windows", registries: mirrors, credentials });

describe("texts as their programs read them", () => {
  it("have no problem and mean what they should", function () {
    const registries = [...Object.keys(mirrors), "mirror.example.com:8443", "own.example.com"].toSorted();
    const [hubLogin, mirrorLogin, ownLogin] = credentials.registries.map((host) => `Basic @${registryLogin(host)}@`);
    const found = read(
      this,
      { kind: "azure.json", text: azureJson },
      { kind: "cni", text: String(data("kube-flannel-cfg")["cni-conf.json"]) },
      { kind: "cni", text: windowsCni },
      { kind: "net-conf.json", text: flannelNetConf(spec.kubernetes.podCidr) },
      ...hostsToml.map(({ content: text }, index): Text => {
        const registry = registries[index] ?? "";
        return { kind: "hosts.toml", text, registry: registry === "_default" ? "quay.io" : registry };
      }),
    );
    const both = "pull,resolve";
    const all = "pull,push,resolve";
    assert.deepEqual(found, [
      { read: ["600"] },
      { read: ["cbr0", "1.0.0", "flannel", "portmap"] },
      { read: ["flannel.4096", "1.0.0", "flannel"] },
      { read: ["10.244.0.0/16", "vxlan", '{"Type":"vxlan","VNI":4096,"Port":4789}'] },
      { read: [`https://all.example.com/v2 ${both}`, `https://quay.io/v2 ${all}`] },
      {
        read: [
          `https://mirror.example.com/v2/hub ${both}`,
          `https://registry-1.docker.io/v2 ${both} ${hubLogin}`,
          `https://registry-1.docker.io/v2 ${all}`,
        ],
      },
      { read: [`https://mirror.example.com:8443/v2 ${both} ${mirrorLogin}`, `https://mcr.microsoft.com/v2 ${all}`] },
      {
        read: [
          `https://all.example.com/v2 ${both}`,
          `https://mirror.example.com:8443/v2 ${both} ${mirrorLogin}`,
          `https://mirror.example.com:8443/v2 ${all}`,
        ],
      },
      {
        read: [
          `https://all.example.com/v2 ${both}`,
          `https://own.example.com/v2 ${both} ${ownLogin}`,
          `https://own.example.com/v2 ${all}`,
        ],
      },
      { read: [`http://mirror.example.com/path/v2 ${both}`, `https://registry.example.com:5000/v2 ${all}`] },
    ]);
  });

  it("have no problem: the checks of node-problem-detector", function () {
    const checks = Object.values(data("node-problem-detector-windows")).map(
      (text): Text => ({ kind: "node-problem-detector", text: String(text) }),
    );
    assert.ok(checks.length > 0);
    assert.deepEqual(read(this, ...checks), Array(checks.length).fill({}));
  });
});

readConfigs(exampleReleases.filter((version) => minorOf(version) === minorOf(defaultRelease)));
