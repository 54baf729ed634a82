// Sees what nothing faster does: that what each command prints is what its schema says, by whole plans.
import assert from "node:assert/strict";
import { cpSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { printed } from "../../cli/printed.ts";
import { type Answer, serving } from "../gates/serving.ts";
import { stackDir } from "../support/stacks.ts";
import { fenestra, suiteFolder } from "../support/suite.ts";

const said = (body: object, status = 200): Answer => ({
  ...{ status, body: JSON.stringify(body) },
  say: (response, words) => void response.writeHead(status, { "content-type": "application/json" }).end(words),
});

/** Of a cluster with one Node, in lists by their names. */
function cluster(path: string): Answer {
  const { pathname } = new URL(path, "https://api");
  const name = pathname.split("/").at(-1) ?? "";
  if (/^\/version\/?$/.test(pathname)) return said({ gitVersion: "v1.36.4" });
  const kind = { nodes: "Node", pods: "Pod", leases: "Lease", storageclasses: "StorageClass" }[name];
  const status = {
    conditions: [{ type: "Ready", status: "True" }],
    nodeInfo: { kubeletVersion: "v1.36.4", containerRuntimeVersion: "containerd://2.3.5", operatingSystem: "linux" },
  };
  const labels = { "node-role.kubernetes.io/control-plane": "" };
  if (kind === "Node") return said({ kind: "NodeList", items: [{ metadata: { name: "cp-0", labels }, status }] });
  if (name === "default") return said({ kind: "ServiceAccount", metadata: { name } });
  if (name === "namespaces") return said({ kind: "Namespace", metadata: { name: "x" } }, 201);
  if (kind !== undefined || /^(runtimeclasses|csidrivers|secrets|volumeattachments|persistentvolume)/.test(name)) {
    const other = { runtimeclasses: "RuntimeClass", csidrivers: "CSIDriver", volumeattachments: "VolumeAttachment" }[
      name
    ];
    return said({ kind: `${kind ?? other}List`, items: [] });
  }
  return said({ kind: "Status", message: "not here" }, 404);
}

describe("what the commands print with --json", function () {
  this.timeout(120_000);
  const folder = suiteFolder();
  const planned = ["plan", "--stack", "aws-smallest", ...stackDir, "--json"];

  const asked = async (...args: readonly string[]) => {
    let answer: Awaited<ReturnType<typeof fenestra>> | undefined;
    await serving(cluster, async ({ server, caCertificate }) => {
      const config = path.join(folder, "kubeconfig");
      const data = Buffer.from(caCertificate).toString("base64");
      const clusters = [{ name: "c", cluster: { server, "certificate-authority-data": data } }];
      const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
      const users = [{ name: "u", user: {} }];
      writeFileSync(config, JSON.stringify({ kind: "Config", clusters, contexts, users, "current-context": "x" }));
      answer = await fenestra(...args, "--kubeconfig", config, "--json");
    });
    return answer ?? assert.fail();
  };

  /** How each is had, and a part that it must have. */
  const ways: Readonly<Record<keyof typeof printed, readonly [() => ReturnType<typeof fenestra>, RegExp]>> = {
    plan: [() => fenestra(...planned), /"billed"/],
    "plan-diff": [
      async () => {
        const base = path.join(folder, "plan.json");
        const text = (await fenestra(...planned)).out;
        writeFileSync(base, text.replaceAll("aws-smallest-pool-win2022", "aws-smallest-pool-other"));
        return fenestra(...planned, "--diff", base);
      },
      /"atATime"/,
    ],
    stacks: [() => fenestra("stacks", "--json"), /"aws-dev"|\[\]/],
    changes: [() => fenestra("changes", "--since", "HEAD", "--stack-dir", folder, "--json"), /"status"/],
    preflight: [() => fenestra("preflight", "--stack", "aws-smallest", ...stackDir, "--json"), /"objections": \[\s*\{/],
    verify: [() => asked("verify", "--only", "nodes", "--timeout", "1"), /"title"/],
    status: [() => asked("status"), /"name": "cp-0"/],
    pin: [() => fenestra("pin", "--via", "http://127.0.0.1:1", "--check", "--json"), /"outcome": "failed"/],
    mirror: [() => fenestra("mirror", "--stack", "aws-smallest", ...stackDir, "--json"), /"reference"/],
  };
  before(() => {
    process.env.AWS_EC2_METADATA_DISABLED = "true";
    const [, dir = ""] = stackDir;
    cpSync(path.join(dir, "Pulumi.aws-smallest.yaml"), path.join(folder, "Pulumi.aws-smallest.yaml"));
  });
  for (const [name, schema] of Object.entries(printed))
    it(`is what the schema of ${name} says, and no more`, async () => {
      const [way, part] = Object.entries(ways).find(([each]) => each === name)?.[1] ?? assert.fail();
      const { out: text, err, order } = await way();
      assert.match(text, part, err);
      // What may take more than five seconds says first what it does, and nothing is written behind that.
      assert.equal(order[0], { stacks: "out", status: "out", verify: "err" }[name] ?? "progress");
      assert.ok(
        order.every((each, index) => each === "progress" || order[index - 1] !== "progress" || each === "cleared"),
      );
      const value: unknown = JSON.parse(text);
      // Not deepEqual, which takes minutes to describe a difference in a megabyte.
      assert.ok(isDeepStrictEqual(schema.parse(value), value));
      const one: unknown = Array.isArray(value) ? value[0] : value;
      const more = { ...Object(one), more: 1 };
      assert.equal(schema.safeParse(Array.isArray(value) ? [more] : more).success, false);
    });
});
