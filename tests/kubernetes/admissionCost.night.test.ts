import assert from "node:assert/strict";
import { type ApiServer, startApiServer } from "../support/apiServer.ts";
import { policiesInForce, typesChecked } from "../support/policies.ts";
import { exampleSpec } from "../support/stacks.ts";
import { planOf } from "./switches.ts";

const count = Number(process.env.PODS ?? 300);
const blocks = 5;
const median = (all: readonly number[]): number =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
const container = (image: string, more = {}) => ({ containers: [{ name: "main", image, ...more }] });
const iis = "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022";
const onWindows = { nodeSelector: { "kubernetes.io/os": "windows" } };
const linux = container("nginx:1.29");
const windows = { ...onWindows, ...container(iis, { resources: { limits: { cpu: "1", memory: "800M" } } }) };
/** As the controller of ReplicaSets labels its pods, which most pods of a cluster are. */
const made = { labels: { "pod-template-hash": "5d7798c5b" } };
const pods: Readonly<Record<string, { readonly labels?: object; readonly spec: object }>> = {
  "Linux, of a ReplicaSet": { ...made, spec: linux },
  "Windows, of a ReplicaSet": { ...made, spec: windows },
  "Linux, bare": { spec: linux },
  "Windows, bare": { spec: windows },
  "Windows, bare, with a warning": { spec: { ...onWindows, ...container(iis) } },
};

describe("processor time of the API server for a pod", function () {
  this.timeout(30 * 60_000);
  let api: ApiServer;
  const kinds = ["mutating", "validating"].map((kind) => `${kind}admissionpolicybinding`);
  const manifests = planOf(exampleSpec("aws-dev"))
    .filter(({ name }) => ["runtime-classes", "guard-rails", "pod-warnings"].includes(name))
    .flatMap((each) => each.manifests);
  const bind = async (): Promise<void> => {
    const items = JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests });
    assert.equal((await api.kubectl(["apply", "--server-side", "-f", "-"], items)).code, 0);
  };
  const unbind = async (): Promise<void> => {
    for (const kind of kinds) await api.kubectl(["delete", kind, "--all"]);
  };
  const used = async (): Promise<number> => {
    const { stdout } = await api.kubectl(["get", "--raw", "/metrics"]);
    return Number(/^process_cpu_seconds_total (\S+)$/m.exec(stdout)?.[1]);
  };
  /** Milliseconds for each pod of a block. */
  const measure = async ({ labels, spec }: NonNullable<(typeof pods)[string]>): Promise<number> => {
    const before = await used();
    // Several at once: what the server does beside counts for little.
    for (let index = 0; index < count; index += 10)
      await Promise.all(
        Array.from({ length: 10 }, async (_, other) => {
          const metadata = { name: `p${index + other}`, labels };
          const body = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata, spec });
          assert.ok((await api.send("POST", "/api/v1/namespaces/measured/pods?dryRun=All", body)).taken);
        }),
      );
    return ((await used()) - before) * (1000 / count);
  };

  before(async function () {
    api = await startApiServer(this);
    await api.kubectl(["create", "namespace", "measured"]);
    const labels = { "node-role.kubernetes.io/control-plane": "" };
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "control", labels } };
    await api.kubectl(["create", "-f", "-"], JSON.stringify(node));
  });

  it("is measured with and without the policies, block by block", async () => {
    const found = Object.keys(pods).map((name) => ({ name, without: [] as number[], with: [] as number[] }));
    await bind();
    // Each status that the controller of types writes has the API server compile that policy again.
    await typesChecked(api);
    for (let block = 0; block <= blocks; block++)
      for (const how of ["without", "with"] as const) {
        await (how === "with" ? bind() : unbind());
        await policiesInForce(api);
        for (const each of found) {
          const milliseconds = await measure(pods[each.name] ?? assert.fail());
          // The first block warms up.
          if (block > 0) each[how].push(milliseconds);
        }
      }
    for (const each of found) {
      const [before, after] = [median(each.without), median(each.with)];
      const blocksOf = each.with.map((milliseconds) => milliseconds.toFixed(1)).join(" ");
      console.log(
        `      ${each.name}: ${before.toFixed(1)} ms without our policies, ${after.toFixed(1)} ms with (${blocksOf}), ${(after / before).toFixed(2)} times`,
      );
    }
  });
});
