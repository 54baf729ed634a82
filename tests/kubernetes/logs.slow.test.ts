import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import type { Context } from "mocha";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { logConfiguration } from "../../components/kubernetes/addOns/logConfiguration.ts";
import { podSpec } from "../../components/kubernetes/manifest.ts";
import { type LogSettings, logCollectors } from "../../components/model/logs.ts";
import { runCommand } from "../../rehearsal/host/command.ts";
import { exampleControlPlane, exampleLinuxWorker } from "../machine/linux/examples.ts";
import { obtainCollector } from "../support/collector.ts";
import { obtainOrSkip } from "../support/skip.ts";
import { exampleSpec } from "../support/stacks.ts";
import { combinations, logs, manifest, manifestsOf } from "./switches.ts";

const otlp = {
  windowsSecurity: false,
  otlp: { endpoint: "https://otlp.test/v1/logs?a=$b", headers: [{ name: "X-Token", secret: "token", key: "value" }] },
} satisfies LogSettings;

/** What the pods' variables are; the collector refuses to start without one that its configuration names. */
const variables = {
  NODE_NAME: "node-1",
  HEADER_0: "header of the test",
  AZURE_CLIENT_ID: "client",
  AZURE_TENANT_ID: "tenant",
  AZURE_FEDERATED_TOKEN_FILE: "/token",
  AWS_ACCESS_KEY_ID: "key",
  AWS_SECRET_ACCESS_KEY: "secret",
};

const received = z.object({
  resourceLogs: z.array(
    z.object({
      resource: z.object({ attributes: z.array(z.unknown()) }),
      scopeLogs: z.array(z.object({ logRecords: z.array(z.looseObject({ timeUnixNano: z.string() })) })),
    }),
  ),
});

const program = z.looseObject({
  service: z.looseObject({ pipelines: z.unknown() }),
});
const followed = z.object({ receivers: z.object({ journald: z.object({ units: z.array(z.string()) }) }) });

describe("log collectors", () => {
  it("mount what they read, read-only, and only those of control-plane machines see the audit log", () => {
    for (const { title, spec } of combinations.filter(({ title }) => title.endsWith("everything on"))) {
      const manifests = manifestsOf(spec);
      const [worker, controlPlane] = ["log-collector", "log-collector-control-plane"].map((name) =>
        podSpec(manifest(manifests, "DaemonSet", name)),
      );
      const writable = controlPlane?.containers[0]?.volumeMounts?.filter(({ readOnly }) => readOnly !== true);
      assert.deepEqual(
        writable?.map(({ name }) => name),
        ["state"],
        title,
      );
      const hostPaths = (pod: typeof worker) => pod?.volumes?.flatMap(({ hostPath }) => hostPath?.path ?? []);
      const common = ["/var/lib/fenestra/log-collector", "/var/log/pods", "/usr", "/lib64", "/lib", "/var/log/journal"];
      assert.deepEqual(hostPaths(worker), common, title);
      assert.deepEqual(hostPaths(controlPlane), [...common, "/var/log/kubernetes/audit"], title);
    }
  });

  it("follow every service that a Linux machine installs, by its whole name", () => {
    for (const spec of [exampleSpec("aws-dev"), exampleSpec("aws-prod"), exampleSpec("azure-prod")])
      for (const [collector, { files }] of [
        ["control-plane", exampleControlPlane(spec)],
        ["linux", exampleLinuxWorker(spec)],
      ] as const) {
        const { receivers } = followed.parse(parse(logConfiguration(spec, collector, logs(spec.cloud))));
        const installed = files.flatMap(({ path: file }) => (file.endsWith(".service") ? [path.basename(file)] : []));
        assert.deepEqual(receivers.journald.units.toSorted(), installed.toSorted(), `${collector} of ${spec.name}`);
      }
  });

  it("make no record of a file that is larger than a request may be", () => {
    // KiB of a part of a long line, as containerd writes them.
    const part = 16;
    for (const settings of [logs("aws"), logs("azure"), otlp])
      for (const collector of ["control-plane", "windows"] as const) {
        const text = logConfiguration(exampleSpec("aws-dev"), collector, settings);
        const longest = [...text.matchAll(/max_log_size: (\d+)KiB/g)].map(([, size]) => Number(size) + part);
        const request = Number(/max_size: (\d+)$/m.exec(text)?.[1]) / 1024;
        // Of both kinds of files, and of a container's line that comes in parts.
        assert.equal(longest.length, 3);
        assert.ok(Math.max(...longest) < request, `${longest} of ${request}`);
      }
  });

  it("may use more memory than what they have read takes, on Windows also for what starts them", () => {
    for (const { title, spec } of combinations.filter(({ title }) => title.endsWith("everything on"))) {
      const manifests = manifestsOf(spec);
      const limits = ["log-collector", "log-collector-windows"].map((name) => [
        podSpec(manifest(manifests, "DaemonSet", name))?.containers[0]?.resources?.limits?.memory,
        /limit_mib: (\d+)/.exec(String(manifest(manifests, "ConfigMap", name).data?.["config.yaml"]))?.[1],
      ]);
      const expected = [
        ["512Mi", "400"],
        ["768Mi", "400"],
      ];
      assert.deepEqual(limits, expected, title);
    }
  });

  it("start again when their configuration changes, and take headers from Secrets", () => {
    const spec = exampleSpec("aws-dev");
    const variablesOf = (settings: LogSettings) => {
      const made = manifestsOf({ ...spec, addons: { ...spec.addons, logs: { ...settings, ...collector } } });
      const set = manifest(made, "DaemonSet", "log-collector");
      return podSpec(set)?.containers[0]?.env ?? [];
    };
    const collector = { windowsCollector: logs("aws").windowsCollector };
    const [before, after] = [otlp, { ...otlp, otlp: { ...otlp.otlp, endpoint: "https://other.test" } }].map(variablesOf);
    const hash = (env: typeof before) => env?.find(({ name }) => name === "CONFIGURATION")?.value;
    assert.notEqual(hash(before), hash(after));
    assert.deepEqual(before?.find(({ name }) => name === "HEADER_0")?.valueFrom, {
      secretKeyRef: { name: "token", key: "value" },
    });
  });
});

describe("configuration of the log collectors, as the real program reads it", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-logs-"));
  let collector = "";
  let server: Server | undefined;
  let child: ChildProcess | undefined;

  before(async function (this: Context) {
    collector = await obtainOrSkip(this, obtainCollector);
  });
  after(() => {
    child?.kill("SIGKILL");
    server?.close();
    rmSync(folder, { recursive: true });
  });

  /** A configuration in a file, with the node's folders below the test's. */
  const write = (name: string, text: string): string => {
    const file = path.join(folder, `${name}.yaml`);
    writeFileSync(file, text);
    return file;
  };
  const validate = async (text: string): Promise<string> => {
    const file = write("validate", text.replace("root_path: /host", `root_path: ${folder}`));
    const { code, stderr } = await runCommand([collector, "validate", "--config", `file:${file}`], {
      env: { ...process.env, ...variables },
    });
    return code === 0 ? "" : stderr;
  };

  for (const [title, settings] of [
    ["CloudWatch", logs("aws")],
    ["Azure Monitor", logs("azure")],
    ["an endpoint with headers", otlp],
  ] as const)
    for (const name of logCollectors)
      it(`that send logs of ${name} nodes to ${title} has no problem`, async () => {
        assert.equal(await validate(logConfiguration(exampleSpec("aws-dev"), name, settings)), "");
      });

  it("with a key that the program does not know, or a wrong value, is refused", async () => {
    const text = logConfiguration(exampleSpec("aws-dev"), "linux", logs("aws"));
    assert.match(await validate(text.replace("start_at: beginning", "start_from: beginning")), /invalid keys: start_from/);
    assert.match(await validate(text.replace("sizer: bytes", "sizer: lines")), /sizer/);
    assert.match(await validate(text.replace("FormatTime(", "Formatted(")), /does not support the function "Formatted"/);
  });

  it("sends lines of containers and requests of the audit log, with what they are and where from, the old ones as of now", async function () {
    this.timeout(180_000);
    const requests: { readonly token: string | undefined; readonly body: z.infer<typeof received> }[] = [];
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const body = received.parse(JSON.parse(gunzipSync(Buffer.concat(chunks)).toString("utf8")));
        requests.push({ token: request.headers["x-token"]?.toString(), body });
        response.setHeader("content-type", "application/json").end("{}");
      });
    });
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);

    const pod = path.join(folder, "pods/shop_web-1_0a1b2c3d-0000-4000-8000-000000000001/web");
    const own = path.join(folder, "pods/fenestra-monitoring_log-collector-x_0a1b2c3d-0000-4000-8000-000000000002/log-collector");
    for (const place of [pod, own, path.join(folder, "audit")]) mkdirSync(place, { recursive: true });
    // The collector leaves out zeros at the end of a second's part.
    const now = Math.floor(Date.now() / 1000) * 1000 + 123;
    const hoursAgo = (hours: number): string => new Date(now - hours * 3_600_000).toISOString();
    // As containerd writes them: time, stream, P for a part of a line and F for its end.
    appendFileSync(path.join(pod, "0.log"), `${hoursAgo(3)} stdout P half of \n`);
    appendFileSync(path.join(pod, "0.log"), `${hoursAgo(1).replace("Z", "+02:00")} stdout F a line\n`);
    appendFileSync(path.join(pod, "0.log.20261122-075900"), `${hoursAgo(48)} stderr F rotated before\n`);
    appendFileSync(path.join(own, "0.log"), `${hoursAgo(3)} stderr F its own\n`);
    appendFileSync(
      path.join(folder, "audit/audit.log"),
      `{"kind":"Event","level":"Metadata","verb":"get","stageTimestamp":"${hoursAgo(2)}"}\n`,
    );
    writeFileSync(
      path.join(folder, "kubeconfig"),
      stringify({
        apiVersion: "v1",
        kind: "Config",
        "current-context": "c",
        clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
        contexts: [{ name: "c", context: { cluster: "c", user: "" } }],
      }),
    );
    // Fake of journalctl 255 with --output=json (systemd: src/shared/logs-show.c), which gives a message with a control character as bytes.
    const journalctl = path.join(folder, "journalctl");
    const entry = { __CURSOR: "c", __REALTIME_TIMESTAMP: `${now - 3_600_000}000`, _SYSTEMD_UNIT: "kubelet.service" };
    const warning = JSON.stringify({
      ...entry,
      PRIORITY: "4",
      MESSAGE: [...Buffer.from("\u001b[33mthe disk is slow")],
    });
    writeFileSync(journalctl, `#!/bin/sh\necho '${warning}'\nexec tail --pid=$PPID --follow /dev/null\n`, {
      mode: 0o755,
    });
    const endpoint = `http://127.0.0.1:${address.port}/v1/logs`;
    const parsed = (settings: LogSettings) =>
      program.parse(
        parse(
          logConfiguration(exampleSpec("aws-dev"), "control-plane", settings)
            .replaceAll("/var/log/pods", path.join(folder, "pods"))
            .replaceAll("/var/log/kubernetes/audit", path.join(folder, "audit"))
            .replaceAll("/var/lib/otelcol", path.join(folder, "state"))
            .replace(/root_path: .*\n\s+journalctl_path: .*/, `journalctl_path: ${journalctl}`)
            .replace("auth_type: serviceAccount", "auth_type: kubeConfig")
            .replace("timeout: 30s", "timeout: 30s\n    encoding: json"),
        ),
      );
    const { service, ...rest } = parsed({ ...otlp, otlp: { ...otlp.otlp, endpoint } });
    const { processors, service: signed } = parsed(logs("aws"));
    const config = stringify({ ...rest, processors, service: { ...service, pipelines: signed.pipelines } });
    child = spawn(collector, ["--config", `file:${write("run", config)}`], {
      env: { ...process.env, ...variables, KUBECONFIG: path.join(folder, "kubeconfig") },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (part: string) => {
      said += part;
    });
    const groups = () => requests.flatMap(({ body }) => body.resourceLogs);
    const records = () => groups().flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords));
    for (let round = 0; round < 1500 && records().length < 4 && child.exitCode === null; round++)
      await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(records().length, 4, said);
    assert.equal(requests[0]?.token, variables.HEADER_0);

    const group = (part: string) => JSON.stringify(groups().find((each) => JSON.stringify(each).includes(part)));
    const attribute = (key: string, value: string) => JSON.stringify({ key, value: { stringValue: value } });
    const line = group("half of a line");
    for (const [key, value] of Object.entries({
      "k8s.namespace.name": "shop",
      "k8s.pod.name": "web-1",
      "k8s.container.name": "web",
      "k8s.node.name": "node-1",
      "k8s.cluster.name": "aws-dev",
      "fenestra.log": "container",
      "log.iostream": "stdout",
    }))
      assert.ok(line?.includes(attribute(key, value)), `${key} in ${line}`);
    const rotated = group("rotated before");
    assert.ok(rotated?.includes(attribute("k8s.pod.name", "web-1")));
    assert.ok(rotated?.includes(attribute("log.time.original", hoursAgo(48))), rotated);
    const audit = group('"stringValue":"Metadata"');
    assert.ok(audit?.includes(attribute("fenestra.log", "audit")), audit);
    assert.ok(audit?.includes(attribute("k8s.node.name", "node-1")), audit);
    const journal = group("the disk is slow");
    assert.ok(journal?.includes('"severityNumber":13,"severityText":"WARN","body":{"stringValue":'), journal);
    assert.ok(journal?.includes(attribute("systemd.unit", "kubelet.service")), journal);
    const times = records().map(({ timeUnixNano }) => Math.abs(Math.round((now - Number(timeUnixNano) / 1e6) / 3_600_000)));
    assert.deepEqual(times.toSorted(), [0, 1, 2, 3], audit);
  });
});
