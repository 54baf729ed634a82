import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Context } from "mocha";
import { shortfalls } from "../../components/gates/machinesPage.ts";
import { alerts } from "../support/alerts.ts";
import { type ApiServer, startApiServer } from "../support/apiServer.ts";

const folder = import.meta.dirname;
const start = `import sys, unittest; sys.path.insert(0, "."); unittest.main(None, argv=["tests", "--failfast", *sys.argv[1:]])`;

/**
 * Runs Python's tests of these files as the program runs: isolated, with the standard library alone.
 *
 * @param env such as `PROGRAM`, a folder in place of the controller's
 */
export async function pythonTests(files: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const names = files.map((name) => name.replace(/\.py$/, ""));
  const run = spawn("python3", ["-I", "-S", "-B", "-c", start, ...names], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
  });
  const [output, code] = await Promise.all([
    text(run.stderr),
    new Promise<number | null>((resolve) => run.on("close", resolve)),
  ]);
  return { code, output };
}

/** A test's API server and its administrator's token, as the Python programs take them. */
export async function administrator({
  kubectl,
}: ApiServer): Promise<{ readonly ORIGIN: string; readonly TOKEN: string }> {
  const view: {
    readonly clusters: readonly [{ readonly cluster: { readonly server: string } }];
    readonly users: readonly [{ readonly user: { readonly token: string } }];
  } = JSON.parse((await kubectl(["config", "view", "--raw", "--output", "json"])).stdout);
  return { ORIGIN: view.clusters[0].cluster.server, TOKEN: view.users[0].user.token };
}

/** An API server with what machines apply to bound workers. `suite` is `this` of a `before` hook. */
export async function boundedApiServer(suite: Context): Promise<ApiServer> {
  const server = await startApiServer(suite);
  const bindings = path.join(folder, "../../components/machine/linux/rootfs/etc/fenestra/bindings.yaml");
  const { code, stderr } = await server.kubectl(["apply", "--server-side", "--filename", bindings]);
  assert.equal(code, 0, stderr);
  return server;
}

interface Look {
  /** Whether a call has been answered wrongly for three minutes. */
  readonly due: boolean;
  readonly now: number;
  readonly waiting: number;
  readonly leads: number;
  readonly event: boolean;
  readonly page: string;
  readonly metrics: readonly string[];
}

interface Cell {
  readonly cell: readonly [start: string, call: string, fault: string];
  readonly harm: readonly string[];
  readonly left: readonly string[];
  readonly looks: readonly Look[];
}

/** Alerts about the node controller that Prometheus would fire. */
export function firing(metrics: readonly string[], now: number): readonly string[] {
  const series = metrics.flatMap((whole) => [...whole.matchAll(/^(\w+)(\{.*\})? +(\S+)$/gm)]);
  return alerts.flatMap(({ alert, expr }) => {
    const rule =
      /^(time\(\) - )?(?:max(?: by \(duty\))? ?\()?(fenestra_(?:node_controller|certificate_requests_waiting)\w*)\)? ([<>]) (\d+)$/.exec(
        expr,
      );
    if (rule === null) return [];
    const [, age, of, sign, limit] = rule;
    const most = new Map<string, number>();
    for (const [, metric, labels = "", value] of series)
      if (metric === of) most.set(labels, Math.max(most.get(labels) ?? 0, Number(value)));
    const values = [...most.values()].map((value) => (age === undefined ? value : now - value));
    return values.some((value) => (sign === "<" ? value < Number(limit) : value > Number(limit))) ? [alert] : [];
  });
}

/** What was done wrong, left undone, or told otherwise than it is. */
function problemsOf({ cell: [start, call, fault], harm, left, looks }: Cell): readonly string[] {
  // An approval whose answer alone is odd is done, which the watch shows.
  const done = call.endsWith("/approval") && !/^\d|hang|refused/.test(fault);
  const silent = looks.flatMap((look) => {
    const told = shortfalls(look.page, look.now);
    const names = firing(look.metrics, look.now);
    const late = names.filter((name) => name.startsWith("FenestraNodeController"));
    const sum = (metric: string) =>
      Math.max(...look.metrics.map((whole) => Number(new RegExp(`^${metric} +(\\S+)$`, "m").exec(whole)?.[1] ?? 0)));
    const waiting = sum("fenestra_certificate_requests_waiting");
    // A call that is not made in each round lets its duty end well between two.
    const ends = look.metrics.flatMap((whole) => [...whole.matchAll(/_done_timestamp_seconds(\{.*\}) +(\d+)$/gm)]);
    const duties = Map.groupBy(ends, ([, duty]) => duty).values();
    const endsWell = [...duties].every((all) => Math.max(...all.map(([, , at]) => Number(at))) > look.now - 150);
    return [
      ...(sum("fenestra_node_controller_leads") === look.leads
        ? []
        : [`${look.leads} lead, the metrics say otherwise`]),
      ...(told.length > 0 || waiting === look.waiting ? [] : [`${look.waiting} wait, ${waiting} by the metrics`]),
      // While a watch fails, lists go on; there is no Event of whoever does not lead, or where Events fail.
      ...(look.due && !done && !call.startsWith("WATCH")
        ? [
            ...(told.length === 0 ? ["the page is green"] : []),
            ...(late.length === 0 && !endsWell ? ["no alert"] : []),
            ...(look.event || /leases(\/|$)|events$|^PUT .*fenestra-machines$/.test(call) ? [] : ["no Event"]),
          ]
        : []),
      ...(look.due ? [] : [...told, ...names, ...(look.event ? ["an Event afterwards"] : [])]),
    ];
  });
  // Lists without a version are quorum reads (Kubernetes, "API Concepts", resource versions): one that lacks requests
  // cannot be told from a machine that never asked, and a machine an hour goes then; nor one without volumes, or what they are of, from none.
  const unseen =
    (/(certificatesigningrequests|persistentvolumes)$/.test(call) &&
      ["half", "none", "old", "drop:resourceVersion"].includes(fault)) ||
    (/persistentvolumes$/.test(call) && /:(csi|claimRef|persistentVolumeReclaimPolicy)$/.test(fault));
  // In no cloud does a start move with each list, and no API server has a request without usages, version or what is
  // asked for; a kubelet asks anew.
  const moves =
    (/Instances$|virtualMachines$/.test(call) && fault === "recent") ||
    (/certificatesigningrequests$/.test(call) && /:(usages|request)$/.test(fault));
  const known = new RegExp(
    [
      ...(unseen ? ["has no answer, and is ended$", "go before the volumes$"] : []),
      ...(moves ? ["is denied$"] : []),
    ].join("|") || "^$",
  );
  const harms = harm.filter((each) => !known.test(each));
  return [...harms, ...left, ...silent].map((problem) => `${start} | ${call} | ${fault}: ${problem}`);
}

/** Judges a share of the cells of table.py. */
export async function judgeTable(cloud: "aws" | "azure", share: number): Promise<void> {
  const script = fileURLToPath(new URL("table.py", import.meta.url));
  const run = spawn("python3", ["-S", "-B", script, cloud, String(share)], { stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors] = await Promise.all([text(run.stdout), text(run.stderr)]);
  assert.equal(errors, "");
  const [head = "", ...rows] = output.trim().split("\n");
  const {
    calls,
    cells,
    unasked,
  }: { readonly calls: readonly string[]; readonly cells: number; readonly unasked: unknown } = JSON.parse(head);
  const results = rows.map((row): Cell => JSON.parse(row));
  console.log(`      ${results.length} of ${cells} cells, ${calls.length} kinds of call`);
  assert.deepEqual(unasked, [], "answers of the fake for which nobody asks");
  assert.ok(cells > 8);
  assert.equal(results.length, cells);
  assert.deepEqual(results.flatMap(problemsOf), []);
}
