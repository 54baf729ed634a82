import assert from "node:assert/strict";
import fc from "fast-check";
import { loadConfig } from "../../components/config/load.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";
import { type ApiServer, startApiServer } from "../support/apiServer.ts";
import { policiesInForce } from "../support/policies.ts";
import { configTexts, stackConfig } from "../support/stacks.ts";
import { applied } from "./applied.ts";
import { manifestsOf } from "./switches.ts";

type Labels = Readonly<Record<string, string>>;
interface Expression {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";
  readonly values?: readonly string[];
}
interface Wish {
  readonly selector: Labels;
  readonly terms: readonly (readonly Expression[])[];
}

/** Labels as people make them up, on pools of either system or both. */
const own: Readonly<Record<string, readonly string[]>> = {
  agentpool: ["web", "build"],
  tier: ["1", "2", "30"],
  "example.com/gpu": ["", "true"],
};
const of = (values: Readonly<Record<string, readonly string[]>>) =>
  fc
    .subarray(Object.keys(values))
    .chain((keys) =>
      fc.record(Object.fromEntries(keys.map((key) => [key, fc.constantFrom(...(values[key] ?? [""]))]))),
    );
const arbitraryPools = fc
  .array(fc.record({ os: fc.constantFrom("linux", "windows-2019", "windows-2022"), labels: of(own) }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((pools) => [{ os: "windows-2022", labels: {} }, ...pools].map((pool, at) => ({ name: `p${at}`, ...pool })));

/**
 * Wishes by labels of the cluster's nodes; one by another value may be for another program's node, and is not decided.
 */
function arbitraryWish(nodes: readonly Labels[]): fc.Arbitrary<Wish> {
  const keys = [...new Set(nodes.flatMap((node) => Object.keys(node)))].filter((key) => key !== "kubernetes.io/arch");
  const known = Object.fromEntries(keys.map((key) => [key, [...new Set(nodes.flatMap((node) => node[key] ?? []))]]));
  const expression: fc.Arbitrary<Expression> = fc
    .constantFrom(...Object.entries(known))
    .chain(([key, values]) =>
      fc.oneof(
        fc.record({
          key: fc.constant(key),
          operator: fc.constantFrom("In" as const, "NotIn" as const),
          values: fc.subarray(values, { minLength: 1 }),
        }),
        fc.record({ key: fc.constant(key), operator: fc.constantFrom("Exists" as const, "DoesNotExist" as const) }),
        fc.record({
          key: fc.constant("tier" in known ? "tier" : key),
          operator: fc.constantFrom("Gt" as const, "Lt" as const),
          values: fc.constantFrom(["1"], ["2"], ["29"]),
        }),
      ),
    );
  return fc.record({
    selector: of(known),
    terms: fc.array(fc.array(expression, { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
  });
}

/** The scheduler's rule (k8s.io/component-helpers: scheduling/corev1/nodeaffinity, labels.Requirement.Matches). */
function fits(node: Labels, { selector, terms }: Wish): boolean {
  const meets = ({ key, operator, values = [] }: Expression): boolean => {
    const value = node[key];
    if (operator === "Exists" || operator === "DoesNotExist") return (value !== undefined) === (operator === "Exists");
    if (operator === "NotIn") return value === undefined || !values.includes(value);
    if (value === undefined) return false;
    if (operator === "In") return values.includes(value);
    if (!/^-?\d+$/.test(value)) return false;
    return operator === "Gt" ? Number(value) > Number(values[0]) : Number(value) < Number(values[0]);
  };
  const selected = Object.entries(selector).every(([key, value]) => node[key] === value);
  return selected && (terms.length === 0 || terms.some((term) => term.every(meets)));
}

/** One node of each pool, and one of the control plane. */
function nodesOf({ pools }: ClusterSpec): readonly Labels[] {
  const workers = pools.map(({ os, scheduling: { ownLabels, kubeletLabels } }) => ({
    ...ownLabels,
    ...kubeletLabels,
    "kubernetes.io/os": os,
  }));
  return [{ "kubernetes.io/os": "linux" }, ...workers];
}

describe("pods that choose nodes, on a real API server", function () {
  this.timeout(30 * 60_000);
  let api: ApiServer;

  before(async function () {
    api = await startApiServer(this);
  });

  /** Whether a pod with this wish tolerates Windows nodes after admission. */
  async function tolerates({ selector, terms }: Wish): Promise<boolean> {
    const required = { nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })) };
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: {
        nodeSelector: selector,
        ...(terms.length === 0 ? {} : { affinity }),
        containers: [{ name: "c", image: "example.test/app:1", resources: { limits: { memory: "1Gi" } } }],
      },
    };
    const { taken, body } = await api.send("POST", "/api/v1/namespaces/default/pods?dryRun=All", JSON.stringify(pod));
    assert.ok(taken, body);
    const made: { readonly spec: { readonly tolerations?: readonly { readonly key?: string }[] } } = JSON.parse(body);
    return (made.spec.tolerations ?? []).some(({ key }) => key === "os");
  }

  it("tolerate Windows nodes where only such nodes fit, and not where a Linux node does", async () => {
    const seen = { windows: 0, linux: 0 };
    // Nothing is shrunk: policies take seconds to be in force.
    for (const pools of fc.sample(arbitraryPools, 5)) {
      const spec = clusterSpec(loadConfig({ ...stackConfig("aws-dev"), ...configTexts({ pools }) }));
      const policies = manifestsOf(spec).filter(({ kind }) => /^(MutatingAdmissionPolicy|RuntimeClass)/.test(kind));
      await applied(api, policies, "--force-conflicts");
      await policiesInForce(api);
      const nodes = nodesOf(spec);
      for (const wish of fc.sample(arbitraryWish(nodes), 80)) {
        const fitting = nodes.filter((node) => fits(node, wish));
        if (fitting.length === 0) continue;
        const alone = fitting.every((node) => node["kubernetes.io/os"] === "windows");
        seen[alone ? "windows" : "linux"] += 1;
        assert.equal(await tolerates(wish), alone, JSON.stringify({ wish, nodes }));
      }
    }
    assert.ok(Math.min(seen.windows, seen.linux) >= 10, JSON.stringify(seen));
  });
});
