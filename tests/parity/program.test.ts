import assert from "node:assert/strict";
import path from "node:path";
import { storageAccountName, vaultName } from "../../components/azure/secrets.ts";
import { Secret, textOf } from "../../components/gates/resources.ts";
import type { RecordedOptions } from "../../plan/program/recorded.ts";
import { bodies, ofType, runStack } from "../support/mocks.ts";
import { matchSnapshot } from "../support/snapshot.ts";

const clouds = {
  aws: { own: "aws:", provider: "pulumi:providers:aws", endpoint: /^https:\/\/.*:6443$/ },
  azure: {
    own: "azure-native:",
    provider: "pulumi:providers:azure-native",
    endpoint: /^https:\/\/azure-dev-[a-z0-9]{8}\.westeurope\.cloudapp\.azure\.com:6443$/,
  },
} as const;
const snapshot = (name: string): string => path.join(import.meta.dirname, "snapshots", name);

/** The tested options, each on a line. */
function optionsOf({ replaceOnChanges, ignoreChanges, deleteBeforeReplace, hideDiffs }: RecordedOptions): string {
  const set = {
    replaceOnChanges: replaceOnChanges.join(" "),
    ignoreChanges: ignoreChanges.join(" "),
    hideDiffs: hideDiffs.join(" "),
    deleteBeforeReplace: String(deleteBeforeReplace ?? ""),
  };
  return Object.entries(set)
    .map(([name, value]) => (value === "" ? "" : `\n  ${name}: ${value}`))
    .join("");
}

for (const cloud of ["aws", "azure"] as const)
  describe(`the program on ${cloud}`, () => {
    const { own, provider, endpoint } = clouds[cloud];

    // The providers do not know what a cloud refuses to change, or mistake for a change what it filled in itself. Kinds
    // that are not in the snapshot have none: the cloud then refuses, and nothing has been deleted.
    it("has these options, by kind, and no hook on deletion: a plain `pulumi destroy` must work", async () => {
      const { program } = await runStack(`${cloud}-prod`);
      const resources = program.resources.filter(({ type }) => type.startsWith(own));
      const kinds = [...Map.groupBy(resources, ({ type }) => type)].flatMap(([type, of]) =>
        [...new Set(of.map(({ options }) => optionsOf(options)))].sort().map((text) => text && `${type}${text}\n`),
      );
      matchSnapshot(snapshot(`options.${cloud}.txt`), kinds.sort().join(""));
      const deleting = program.resources.filter(({ options: { hooks } }) => hooks.beforeDelete ?? hooks.afterDelete);
      assert.deepEqual(deleting, []);
    });

    it("hands every resource its one provider, and exports these outputs, the kubeconfig as a secret", async () => {
      const { program, hooks } = await runStack(`${cloud}-dev`);
      const [only, ...more] = ofType({ program, hooks }, provider).values();
      assert.deepEqual(more, []);
      for (const each of program.resources) if (each.type.startsWith(own)) assert.equal(each.provider, only?.urn);
      const { outputs } = program;
      const wanted = ["apiEndpoint", "clusterName", "kubeconfig", "kubernetesVersion", "pools", "publicEndpoint"];
      assert.deepEqual(Object.keys(outputs).sort(), [...wanted, "resources"]);
      assert.ok(outputs.kubeconfig instanceof Secret);
      assert.match(textOf(outputs.publicEndpoint) ?? "", endpoint);
      assert.ok((textOf(outputs.kubeconfig) ?? "").includes(textOf(outputs.publicEndpoint) ?? "?"));
      assert.deepEqual(outputs.pools, [
        { name: "linux", os: "linux", group: `${cloud}-dev-linux` },
        { name: "win2019", os: "windows-2019", group: `${cloud}-dev-win2019` },
        { name: "win2022", os: "windows-2022", group: `${cloud}-dev-win2022` },
      ]);
    });

    // Beyond the providers' types a cloud refuses what does not fit together: see what its page says before you accept a
    // line that moves.
    it("makes groups of machines of these bodies", async () => {
      const text = bodies(
        await runStack(`${cloud}-dev`),
        /:(Group|LaunchTemplate|VirtualMachineScaleSet)$/,
        /-pool-win2022-/,
      );
      matchSnapshot(snapshot(`groups.${cloud}.txt`), text);
    });
  });

describe("names on Azure", () => {
  it("are within its limits for every cluster's name", () => {
    for (const cluster of ["a", "a--b", "a-b-c-d-e-f-g-h-i-jk", "a".repeat(20)]) {
      for (const purpose of ["ca", "join"] as const)
        assert.match(vaultName(cluster, purpose, "x".repeat(8)), /^[a-z](?!.*--)[a-z0-9-]{1,22}[a-z0-9]$/);
      assert.match(storageAccountName(cluster, "oidc", "x".repeat(8)), /^[a-z0-9]{3,24}$/);
    }
  });
});
