import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { request } from "node:http";
import path from "node:path";
import { text as textOf } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { type ApiServer, run, until } from "../support/apiServer.ts";
import { policiesInForce, typesChecked } from "../support/policies.ts";
import { suiteFolder } from "../support/temporary.ts";
import { type KeptRehearsal, keepRehearsal } from "./kept.ts";

const count = Number(process.env.PODS ?? 200);
const blocks = 6;
const mean = (all: readonly number[]): number => all.reduce((sum, each) => sum + each, 0) / all.length;
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

/** The API server as kubeadm starts it for a cluster, with its audit log, encryption and admission. */
describe("processor time of a cluster's API server for a pod", function () {
  this.timeout(60 * 60_000);
  const folder = suiteFolder();
  let rehearsal: KeptRehearsal | undefined;
  let proxy: ChildProcess | undefined;

  after(async () => {
    proxy?.kill();
    await rehearsal?.end();
  });

  it("is measured with and without the policies, block by block", async () => {
    rehearsal = await keepRehearsal();
    const [first = "", ...enter] = rehearsal.enter;
    const kubectlWords = [rehearsal.kubectl, "--kubeconfig", rehearsal.kubeconfig];
    const inside = (words: readonly string[], input?: string) => run(first, [...enter, ...words], input);
    const kubectl: ApiServer["kubectl"] = (args, input) => inside([...kubectlWords, ...args], input);
    const socketPath = path.join(folder, "api");
    proxy = spawn(first, [...enter, ...kubectlWords, "proxy", `--unix-socket=${socketPath}`], { stdio: "ignore" });
    await until("kubectl's proxy", async () => existsSync(socketPath));
    const send: ApiServer["send"] = (method, url, text) =>
      new Promise((resolve, reject) => {
        const headers = { "content-type": "application/json" };
        request({ socketPath, method, path: url, headers }, async (response) => {
          const body = await textOf(response);
          resolve({ taken: (response.statusCode ?? 500) < 300, body, warnings: [] });
        })
          .on("error", reject)
          .end(text);
      });

    const kinds = ["mutating", "validating"].map((kind) => `${kind}admissionpolicybindings`);
    const found: object[] = [];
    for (const kind of kinds) found.push(...JSON.parse((await kubectl(["get", kind, "-o", "json"])).stdout).items);
    const bindings = JSON.stringify({
      apiVersion: "v1",
      kind: "List",
      items: found.map((each) => ({ ...each, metadata: { name: Reflect.get(each, "metadata").name } })),
    });
    const bind = async (isBound: boolean): Promise<void> => {
      if (isBound) assert.equal((await kubectl(["apply", "-f", "-"], bindings)).code, 0);
      else for (const kind of kinds) await kubectl(["delete", kind, "--all"]);
      await policiesInForce({ kubectl, send });
    };
    const processId = (await inside(["pgrep", "-x", "kube-apiserver"])).stdout.trim();
    /** Milliseconds of processor time, which Linux counts in hundredths of a second (proc(5): fields 14 and 15). */
    const used = async (): Promise<number> => {
      const [, after = ""] = (await inside(["cat", `/proc/${processId}/stat`])).stdout.split(") ");
      const [user, system] = after.split(" ").slice(11, 13).map(Number);
      return ((user ?? Number.NaN) + (system ?? Number.NaN)) * 10;
    };
    /** Milliseconds of the clock, and of the API server's processor time, that a task takes. */
    const timed = async (task: () => Promise<unknown>): Promise<{ clock: number; processor: number }> => {
      const [began, before] = [performance.now(), await used()];
      await task();
      return { clock: performance.now() - began, processor: (await used()) - before };
    };

    // Each status that the controller of types writes has the API server compile that policy again.
    await typesChecked({ kubectl });
    // What nodes and controllers cost the API server besides.
    const idle = await timed(() => pause(30_000));
    const rows = Object.keys(pods).map((name) => ({ name, without: [] as number[], with: [] as number[] }));
    for (let block = 0; block < blocks; block++)
      for (const how of block % 2 === 0 ? (["without", "with"] as const) : (["with", "without"] as const)) {
        await bind(how === "with");
        for (const row of rows) {
          const { labels, spec } = pods[row.name] ?? assert.fail();
          const { clock, processor } = await timed(async () => {
            for (let index = 0; index < count; index++) {
              const metadata = { name: `p${index}`, labels };
              const body = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata, spec });
              const answer = await send("POST", "/api/v1/namespaces/default/pods?dryRun=All", body);
              assert.ok(answer.taken, answer.body);
            }
          });
          row[how].push((processor - (idle.processor / idle.clock) * clock) / count);
        }
      }
    for (const row of rows) {
      const [before, after] = [mean(row.without), mean(row.with)];
      const all = [row.without, row.with].map((each) => each.map((value) => value.toFixed(1)).join(" "));
      console.log(
        `      ${row.name}: ${before.toFixed(1)} ms without our policies (${all[0]}), ${after.toFixed(1)} with (${all[1]}), ${(after / before).toFixed(2)} times`,
      );
    }
  });
});
