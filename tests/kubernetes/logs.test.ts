import assert from "node:assert/strict";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { logConfiguration } from "../../components/kubernetes/addOns/logConfiguration.ts";
import { podSpec } from "../../components/kubernetes/manifest.ts";
import { type LogSettings, logCollectors } from "../../components/model/nodeSettings.ts";
import { exampleControlPlane, exampleLinuxWorker } from "../machine/examples.ts";
import { exampleSpec } from "../support/stacks.ts";
import { combinations, logs, manifest, manifestsOf } from "./switches.ts";

const otlp = {
  windowsSecurity: false,
  otlp: { endpoint: "https://otlp.test/v1/logs?a=$b", headers: [{ name: "X-Token", secret: "token", key: "value" }] },
} satisfies LogSettings;

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
    // KiB of a part of a long line by containerd.
    const part = 16;
    for (const settings of [logs("aws"), logs("azure"), otlp])
      for (const collector of ["control-plane", "windows"] as const) {
        const text = logConfiguration(exampleSpec("aws-dev"), collector, settings);
        const longest = [...text.matchAll(/max_log_size: (\d+)KiB/g)].map(([, size]) => Number(size) + part);
        const request = Number(/max_size: (\d+)$/m.exec(text)?.[1]) / 1024;
        // Limits of both kinds of files, and of a container's line in parts.
        assert.equal(longest.length, 3);
        assert.ok(Math.max(...longest) < request, `${longest} of ${request}`);
      }
  });

  it("start again when their configuration changes, and take headers from Secrets", () => {
    const spec = exampleSpec("aws-dev");
    const variablesOf = (settings: LogSettings) => {
      const made = manifestsOf({ ...spec, addons: { ...spec.addons, logs: settings } });
      return podSpec(manifest(made, "DaemonSet", "log-collector"))?.containers[0]?.env ?? [];
    };
    const [before, after] = [otlp, { ...otlp, otlp: { ...otlp.otlp, endpoint: "https://other.test" } }].map(
      variablesOf,
    );
    const hash = (env: typeof before) => env?.find(({ name }) => name === "CONFIGURATION")?.value;
    assert.notEqual(hash(before), hash(after));
    assert.deepEqual(before?.find(({ name }) => name === "HEADER_0")?.valueFrom, {
      secretKeyRef: { name: "token", key: "value" },
    });
  });
});

/** Components of OpenTelemetry's collector contrib, which does not start with another. */
const components = {
  receivers: ["file_log", "journald", "windowseventlog"],
  processors: ["memory_limiter", "k8s_attributes", "resource", "transform"],
  exporters: ["otlp_http"],
  extensions: ["file_storage", "sigv4auth", "azureauth"],
} as const;
const named = z.record(z.string(), z.unknown());
const configuration = z.strictObject({
  receivers: named,
  processors: named,
  exporters: named,
  extensions: named,
  service: z.strictObject({
    extensions: z.array(z.string()),
    telemetry: z.strictObject({ metrics: z.strictObject({ level: z.literal("none") }) }),
    pipelines: z.record(
      z.enum(["logs/containers", "logs/node"]),
      z.strictObject({
        receivers: z.array(z.string()),
        processors: z.array(z.string()),
        exporters: z.array(z.string()),
      }),
    ),
  }),
});

describe("configuration of the log collectors", () => {
  for (const [title, settings] of [
    ["CloudWatch", logs("aws")],
    ["Azure Monitor", logs("azure")],
    ["an endpoint with headers", otlp],
  ] as const)
    it(`uses what it declares, declares what it uses, and names only published components, to ${title}`, () => {
      for (const collector of logCollectors) {
        const { service, ...declared } = configuration.parse(
          parse(logConfiguration(exampleSpec("aws-dev"), collector, settings)),
        );
        const pipelines = Object.values(service.pipelines);
        for (const kind of ["receivers", "processors", "exporters", "extensions"] as const) {
          assert.deepEqual(
            [
              ...new Set(kind === "extensions" ? service.extensions : pipelines.flatMap((pipeline) => pipeline[kind])),
            ].toSorted(),
            Object.keys(declared[kind]).toSorted(),
            `${kind} of ${collector}`,
          );
          assert.deepEqual(
            Object.keys(declared[kind]).filter((id) => !components[kind].some((type) => type === id.split("/")[0])),
            [],
            `${kind} of ${collector}`,
          );
        }
        // Nothing that could not be sent, or came while the collector was away, is lost.
        const kept = { storage: "file_storage", retry_on_failure: { enabled: true, max_elapsed_time: "0s" } };
        for (const receiver of Object.values(declared.receivers))
          assert.partialDeepStrictEqual(receiver, { ...kept, start_at: "beginning" });
        const { storage, ...retry } = kept;
        assert.partialDeepStrictEqual(declared.exporters.otlp_http, {
          ...retry,
          sending_queue: { storage, block_on_overflow: true },
        });
      }
    });
});
