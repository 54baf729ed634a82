import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { z } from "zod";
import { expect, expectEqual, within } from "../../check/check.ts";
import { ifFound } from "../../check/cluster/api.ts";
import { type CommandResult, runCommand } from "../host/command.ts";
import { limitsMs } from "../host/limits.ts";
import { insideNamespaces } from "../host/namespaces.ts";
import { waitFor } from "../host/processes.ts";
import type { CheckContext, ExpectedPool, RehearsalCheck } from "./context.ts";

const program = path.join(import.meta.dirname, "../../cli/main.ts");

/** Runs `fenestra verify` as a user would, with a kubeconfig in a file. */
async function verify({ kubectl }: CheckContext, args: readonly string[]): Promise<CommandResult> {
  const { stdout: kubeconfig } = await kubectl(["config", "view", "--raw", "--minify"]);
  const file = path.join(insideNamespaces()?.workFolder ?? tmpdir(), `verify-${process.pid}.kubeconfig`);
  try {
    await writeFile(file, kubeconfig, { mode: 0o600 });
    return await runCommand([process.execPath, program, "verify", "--kubeconfig", file, ...args], {
      timeoutMs: limitsMs.program,
    });
  } finally {
    await rm(file, { force: true });
  }
}

/** Results by id, with the lines under each. */
function resultsOf(output: string): ReadonlyMap<string, { readonly outcome: string; readonly text: string }> {
  const blocks = output.split(/^\[ *[\d.]+ s\] /m).slice(1);
  return new Map(
    blocks.flatMap((block) => {
      const [, outcome, id] = /^(pass|FAIL|skip) {2} *\d+\/\d+ {2}\[([^\]]+)\] /.exec(block) ?? [];
      return outcome === undefined || id === undefined ? [] : [[id, { outcome, text: block }]];
    }),
  );
}

/** What needs packets or containers, and so has no answer here: the part of the id before the slash. */
const unanswerable: readonly string[] = [
  "metrics",
  "pod-metrics",
  "serving-certificates",
  "logs",
  "exec",
  "node-to-pod",
  "pod-to-pod",
  "service-ip-from-pod",
  "service-ip-from-node",
  "api-from-pod",
  "dns",
  "node-port",
  "load-balancer",
  "outbound",
  "metadata",
  "disk-driver",
  "volume",
];

/** `fenestra verify` passes what the API server alone can answer, and skips the rest with the reason. */
function verifyPasses(pools: readonly ExpectedPool[]): RehearsalCheck {
  const groups = [...new Set(pools.filter(({ count }) => count > 0).map((pool) => pool.runtimeClass ?? "linux"))];
  const windows = groups.filter((group) => group !== "linux");
  const wanted = [
    "nodes/control-plane",
    ...groups.flatMap((group) => [`nodes/${group}`, `pods-ready/${group}`]),
    "control-plane",
    "objects",
    "workloads",
    "plain-pods",
    ...windows.flatMap((group) => [`runtime-class/${group}`, `runtime-class-policy/${group}`]),
    "refused-fields",
  ];
  return {
    id: "verify",
    slow: true,
    title: "fenestra verify passes on this cluster; what needs packets or containers is skipped with the reason",
    run: async (context) => {
      const { code, stdout, stderr } = await verify(context, ["--timeout", "60"]);
      const results = resultsOf(stdout);
      for (const [id, { outcome, text }] of results) expect(outcome !== "FAIL", `${id} failed: ${text.trim()}`);
      for (const id of wanted) expectEqual(results.get(id)?.outcome, "pass", `outcome of ${id}`);
      for (const kind of unanswerable) {
        const own = [...results].filter(([id]) => id.split("/")[0] === kind);
        expect(own.length > 0, `there is no check ${kind}`);
        for (const [id, { outcome, text }] of own) {
          expect(outcome === "skip", `${id} was not skipped although packets are simulated`);
          expect(/simulated nodes/.test(text), `the reason for which ${id} was skipped reads: ${text.trim()}`);
        }
      }
      expectEqual(code, 0, `exit code (${stderr.trim().split("\n").at(-1)})`);
      const last = stdout.trim().split("\n").at(-1) ?? "";
      expect(/^\d+ passed, 0 failed, \d+ skipped$/.test(last), `the last line reads: ${last}`);
      context.note(last);
      let left = "";
      // verify does not wait for the end of the pods that it deletes.
      await waitFor("the pods of verify to be gone", limitsMs.answer, async () => {
        const kinds = "pods,services,pvc";
        const label = "app.kubernetes.io/part-of=fenestra-verify";
        left = (await context.kubectl(["get", kinds, "-A", "-l", label, "-o", "name"])).stdout.trim();
        return left === "";
      }).catch(() => undefined);
      expectEqual(left, "", "what verify left behind");
    },
  };
}

const onLinux = { "kubernetes.io/os": "linux" };
const listed = z.looseObject({ items: z.array(z.unknown()) });

/** What a first `kubectl delete namespace` meets: it ends only while every registered API answers. */
const namespaceEnds: RehearsalCheck = {
  id: "namespace",
  slow: true,
  title: "a pod with a claim of the default class runs on Linux, and its namespace is gone once it is deleted",
  run: async ({ api, note, waitingImage }) => {
    const [name, claimName] = ["deleted", "data"];
    await api.core.createNamespace({ body: { metadata: { name } } });
    const classes = { group: "storage.k8s.io", version: "v1", plural: "storageclasses" };
    const { items } = listed.parse(await api.custom.listClusterCustomObject(classes));
    if (items.length === 0) note("the stack has no classes of disks");
    else {
      const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
      const body = { metadata: { name: claimName }, spec: claim };
      await api.core.createNamespacedPersistentVolumeClaim({ namespace: name, body });
      const volumes = [{ name: claimName, persistentVolumeClaim: { claimName } }];
      const mounts = [{ name: claimName, mountPath: "/data" }];
      const containers = [{ name: "main", image: waitingImage, volumeMounts: mounts }];
      const pod = { metadata: { name: claimName }, spec: { containers, volumes, nodeSelector: onLinux } };
      await api.core.createNamespacedPod({ namespace: name, body: pod });
      await waitFor("the pod with a claim to run", limitsMs.change, async () => {
        const { status } = await api.core.readNamespacedPod({ name: claimName, namespace: name });
        return status?.phase === "Running";
      });
    }
    await api.core.deleteNamespace({ name });
    const gone = async () => (await ifFound(api.core.readNamespace({ name }))) === undefined;
    await waitFor(`namespace ${name} to be gone`, limitsMs.answer, gone);
  },
};

/** `fenestra verify` against the rehearsal's cluster. */
export function verifyChecks(pools: readonly ExpectedPool[]): readonly RehearsalCheck[] {
  return within(limitsMs.steps, [namespaceEnds, verifyPasses(pools)]);
}
