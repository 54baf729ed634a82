import { readFileSync } from "node:fs";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import { z } from "zod";

const labels = z.record(z.string(), z.string());
const text = readFileSync(path.join(import.meta.dirname, "../../examples/prometheus.yaml"), "utf8");
const objects = z
  .array(
    z.discriminatedUnion("kind", [
      z.object({
        kind: z.literal("ServiceMonitor"),
        metadata: z.object({ namespace: z.string() }),
        spec: z.object({
          selector: z.object({ matchLabels: labels }),
          endpoints: z.array(z.object({ port: z.string() })),
        }),
      }),
      z.object({
        kind: z.literal("PrometheusRule"),
        spec: z.object({
          groups: z.array(
            z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string(), annotations: labels })) }),
          ),
        }),
      }),
    ]),
  )
  .parse(parseAllDocuments(text).map((document): unknown => document.toJS()));

/** What users get for the Prometheus operator. */
export const monitors = objects.flatMap((each) => (each.kind === "ServiceMonitor" ? [each] : []));
export const alerts = objects.flatMap(({ kind, spec }) =>
  kind === "PrometheusRule" ? spec.groups.flatMap(({ rules }) => rules) : [],
);
