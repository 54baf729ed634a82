import assert from "node:assert/strict";
import type { Resource } from "@pulumi/pulumi";
import { poolRoll } from "../../components/aws/poolGroup.ts";
import type { ApiClient } from "../../components/gates/apiProbe.ts";
import { apiGate, memberGate } from "../../components/gates/controlPlane.ts";
import { peersGate } from "../../components/gates/peersGate.ts";
import { policyGate } from "../../components/gates/policyGate.ts";
import { poolGate, releaseGuard, sizeGuard } from "../../components/gates/poolGate.ts";
import type { Patience } from "../../components/gates/waitFor.ts";
import { issueServerCertificate, newAuthority } from "../../rehearsal/clouds/server.ts";
import { withMocks } from "../support/mocks.ts";
import { exampleSpec } from "../support/stacks.ts";
import { type Answer, faults, runHook, serving } from "./serving.ts";

const spec = exampleSpec("aws-prod");
const { controlPlane } = spec;
const [first] = controlPlane.members;
const [pool] = spec.pools;
assert.ok(first !== undefined && pool !== undefined);
const client = issueServerCertificate(newAuthority("clients"), { commonName: "admin", dnsNames: ["admin"] });
const release = spec.kubernetes.version;
const fingerprint = "aaaaaaaaaaaaaaaa";
const group = "set";

let renewals = 0;
let present: readonly { readonly etcdName: string; readonly address: string }[] = controlPlane.members;
const ready = { type: "Ready", status: "True" };
const count = 30;

/** A well cluster: the answer to each call. */
function well(path: string, sent: string): Answer {
  const say = (body: object, status = 200): Answer => ({ status, body: JSON.stringify(body) });
  const name = path.split("/").at(-1) ?? "";
  if (path === "/readyz") return { status: 200, body: "ok" };
  if (path.includes("selfsubjectaccessreviews")) return say({ status: { allowed: true } }, 201);
  if (path.includes("dryRun")) {
    const { spec: given } = JSON.parse(sent);
    return say({ kind: "Pod", spec: { ...given, runtimeClassName: "w" } }, 201);
  }
  if (path.includes("/leases/")) {
    renewals += 1;
    const renewTime = new Date(renewals * 1000).toISOString();
    return say({ kind: "Lease", metadata: { name }, spec: { renewTime } });
  }
  if (path.includes("/endpointslices/"))
    return say({ kind: "EndpointSlice", metadata: { name }, endpoints: [{ addresses: [present[0]?.address] }] });
  if (path.includes("/pods/")) {
    const nodeName = name.replace(/^(etcd|kube-(apiserver|controller-manager|scheduler))-/, "");
    return say({ kind: "Pod", metadata: { name }, spec: { nodeName }, status: { conditions: [ready] } });
  }
  if (path.includes("/configmaps/")) {
    const page = { at: Date.now() / 1000, pools: { [group]: { wanted: 0, ready: 0, old: 0 } } };
    return say({ kind: "ConfigMap", metadata: { name }, data: { status: JSON.stringify(page) } });
  }
  const node = (each: string, address: string) => ({
    metadata: { name: each, labels: { "fenestra.dev/payload": fingerprint } },
    status: {
      addresses: [{ type: "InternalIP", address }],
      nodeInfo: { kubeletVersion: `v${release}` },
      conditions: [ready],
    },
  });
  if (path.startsWith("/api/v1/nodes/"))
    return say({ kind: "Node", metadata: { name, labels: { "node-role.kubernetes.io/control-plane": "" } } });
  return path.includes("control-plane")
    ? say({ kind: "NodeList", items: present.map(({ etcdName, address }) => node(etcdName, address)) })
    : say({ kind: "NodeList", items: Array.from({ length: count }, (_, index) => node(`n-${index}`, "10.0.0.1")) });
}

/** The gates as the program makes them; each hook is called `gate`. */
const gates: Readonly<Record<string, (api: ApiClient, patience: Patience) => Resource | object>> = {
  api: (api, patience) =>
    apiGate("gate", { machines: ["a"], members: [{ node: "cp-0" }], api: { ...api, client }, patience }, {}),
  member: (api, patience) => memberGate("gate", { machine: "a", node: { node: "cp-0" }, api, patience }, {}),
  peers: (api, patience) =>
    peersGate(
      "gate",
      {
        machine: { fingerprint, start: { name: "m", parts: [] }, parts: [], after: [] },
        member: first,
        members: controlPlane.members,
        version: release,
        otherSize: () => "m6i.large",
        api,
        patience,
      },
      {},
    ),
  alone: (api, patience) => {
    present = [first];
    return gates.peers?.(api, patience) ?? assert.fail();
  },
  made: (api, patience) => {
    present = controlPlane.members.slice(2);
    return gates.peers?.(api, patience) ?? assert.fail();
  },
  pool: (api, patience) =>
    poolGate(
      "gate",
      {
        ...{ release, pool, fingerprint, roll: poolRoll(spec, pool), api, patience, askRoll: async () => [] },
        sent: { count, machines: undefined, id: group },
      },
      {},
    ),
  policy: (api, patience) =>
    policyGate(
      "gate",
      {
        proof: { policy: "p", objects: [], probes: [{ image: "x", runtimeClass: "w" }] },
        api,
        cluster: "c",
        apiServers: 1,
        patience,
      },
      {},
    ),
  release: (api, patience) => releaseGuard("gate", { pool: pool.name, release, api, patience }),
  size: (api, patience) => sizeGuard("gate", { pool: pool.name, group, api, patience }),
};

async function pass(gate: string, answer: (path: string, sent: string) => Answer, seconds: number): Promise<void> {
  await serving(answer, async (api) => {
    const make = gates[gate] ?? assert.fail(gate);
    present = controlPlane.members;
    const patience = { everySeconds: 0.001, limitSeconds: seconds };
    const recorded = await withMocks(() => void make({ ...api, requestMs: 3_000 * seconds }, patience));
    await runHook(recorded, "gate", {
      urn: "urn",
      oldInputs: { input: { fingerprint: "b", replicas: 3 } },
      newInputs: { sku: { capacity: count } },
    });
  });
}

/** A call's path without names of objects. */
const kindOf = (path: string) =>
  path
    .replace(/\?.*/, "")
    .replace(/(etcd|kube-(apiserver|controller-manager|scheduler))-[^/]*$/, "$1")
    .replace(/leases\/.*/, "leases") + (path.includes("control-plane") ? " of the control plane" : "");

type CallOfGate = readonly [gate: string, call: string, path: string];

/** Each gate with the kinds of call that it makes of a well cluster, and a path of each; found by passing it. */
export async function callsOfGates(): Promise<readonly CallOfGate[]> {
  const pairs: CallOfGate[] = [];
  for (const gate of Object.keys(gates)) {
    const asked = new Map<string, string>();
    await pass(
      gate,
      (path, sent) => {
        asked.set(kindOf(path), path);
        return well(path, sent);
      },
      5,
    );
    pairs.push(...[...asked].map(([call, path]): CallOfGate => [gate, call, path]));
  }
  return pairs;
}

/** Asserts that a gate stays shut, and comes to an end, while one of its calls is answered wrongly. */
export async function staysShut([gate, call]: CallOfGate, fault: string): Promise<void> {
  // A member that is away itself is made whatever a whole answer says of the others.
  if (gate === "made" && call.includes("/pods/") && fault === "another node") return;
  const wrong = faults[fault] ?? assert.fail(fault);
  let isWrong = false;
  const answer = (path: string, sent: string): Answer => {
    const was = well(path, sent);
    if (kindOf(path) !== call) return was;
    const given = wrong(was);
    isWrong ||= given.body !== was.body || given.status !== was.status || given.say !== undefined;
    return given;
  };
  const opened = await pass(gate, answer, 0.05).then(
    () => true,
    () => false,
  );
  assert.ok(!(opened && isWrong), `${gate} opens on ${call} answered by ${fault}`);
}
