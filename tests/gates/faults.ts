import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import { poolRoll } from "../../components/aws/poolGroup.ts";
import type { ApiClient } from "../../components/gates/apiProbe.ts";
import { apiGate, memberGate } from "../../components/gates/controlPlane.ts";
import { peersGate } from "../../components/gates/peersGate.ts";
import { type PolicyProof, policyGate } from "../../components/gates/policyGate.ts";
import { poolGate, releaseGuard, sizeGuard } from "../../components/gates/poolGate.ts";
import type { Patience } from "../../components/gates/waitFor.ts";
import { issueServerCertificate, newAuthority } from "../../rehearsal/clouds/server.ts";
import { type Recorded, withMocks } from "../support/mocks.ts";
import { exampleSpec } from "../support/stacks.ts";
import { type Answer, faults, runHook, serving } from "./serving.ts";

const spec = exampleSpec("aws-prod");
export const { members } = spec.controlPlane;
export const [pool = assert.fail()] = spec.pools;
/** Any certificate: the fake server asks for none. */
export const client = issueServerCertificate(newAuthority("clients"), { commonName: "admin", dnsNames: ["admin"] });
const release = spec.kubernetes.version;
export const fingerprint = "aaaaaaaaaaaaaaaa";
export const group = "set";
const count = 30;

export const proof: PolicyProof = {
  policy: "classes",
  objects: [{ kind: "MutatingAdmissionPolicy" }, { kind: "MutatingAdmissionPolicyBinding" }],
  probes: [
    { image: "x:ltsc2022", runtimeClass: "windows-2022" },
    { image: "x:latest", runtimeClass: undefined },
  ],
};

const say = (body: object, status = 200): Answer => ({ status, body: JSON.stringify(body) });

export interface ListedNode {
  readonly name?: string;
  readonly address?: string;
  readonly payload?: string;
  readonly kubelet?: string;
  /** Message of a node that is not Ready. */
  readonly sick?: string;
  readonly taint?: string;
}

export const nodeList = (nodes: readonly ListedNode[]) =>
  say({
    kind: "NodeList",
    items: nodes.map(
      ({ name = "", address = "", payload = fingerprint, kubelet = `v${release}`, sick, taint }, index) => ({
        metadata: { name: name || `node-${index}`, labels: { "fenestra.dev/payload": payload } },
        spec: { taints: taint === undefined ? [] : [{ key: taint }] },
        status: {
          addresses: Object.entries({ Hostname: name, InternalIP: address }).map(([type, each]) => ({
            type,
            address: each,
          })),
          nodeInfo: { kubeletVersion: kubelet },
          conditions: [
            { type: "Ready", status: sick === undefined ? "True" : "False", reason: "NotYet", message: sick },
          ],
        },
      }),
    ),
  });

export const pageAnswer = (pools: object, more: object = {}) =>
  say({
    kind: "ConfigMap",
    metadata: { name: "fenestra-machines" },
    data: { status: JSON.stringify({ at: Date.now() / 1000, pools, ...more }) },
  });

/** A mirror pod of a member. */
export const memberPod = (name: string, isReady = true, startedAt?: string) => ({
  kind: "Pod",
  metadata: { name },
  spec: { nodeName: name.replace(/^(etcd|kube-(apiserver|controller-manager|scheduler))-/, "") },
  status: {
    conditions: [
      { type: "Initialized", status: "True" },
      { type: "Ready", status: isReady ? "True" : "False" },
    ],
    containerStatuses: startedAt === undefined ? [] : [{ state: { running: { startedAt } } }],
  },
});

interface Differences {
  /** Members with a Node. */
  readonly present?: readonly { readonly etcdName: string; readonly address: string }[];
  /** Addresses of API servers. Default: of those members. */
  readonly serving?: readonly (string | undefined)[];
  readonly readyz?: number;
  readonly sick?: (pod: string, look: number) => boolean;
  readonly isMarked?: boolean;
  /** Default: renewed between any two looks. */
  readonly lease?: (node: string, look: number) => { readonly renewTime?: string; readonly creationTimestamp?: string };
}

const renewed = (look: number) => new Date(Date.parse("2026-11-22T01:00:00Z") + look * 1000).toISOString();

/** A well cluster, but for the differences: the answer to each call. */
export function cluster(differences: Differences = {}): (path: string, sent?: string) => Answer {
  const { present = members, serving, readyz = 200, sick = () => false, isMarked = true, lease } = differences;
  const looks = new Map<string, number>();
  return (path, sent = "") => {
    const name = path.split("/").at(-1) ?? "";
    const look = (looks.get(path) ?? 0) + 1;
    looks.set(path, look);
    if (path === "/readyz") return { status: readyz, body: "ok" };
    if (path.includes("selfsubjectaccessreviews")) return say({ status: { allowed: true } }, 201);
    if (path.includes("dryRun")) return placed(sent);
    if (path.includes("/leases/")) {
      const { creationTimestamp, renewTime } = lease?.(name, look) ?? { renewTime: renewed(look) };
      return say({ kind: "Lease", metadata: { name, creationTimestamp }, spec: { renewTime } });
    }
    if (path.includes("/endpointslices/"))
      return say({
        kind: "EndpointSlice",
        metadata: { name },
        endpoints: [{ addresses: serving ?? present.map(({ address }) => address) }],
      });
    if (path.includes("/pods/")) return say(memberPod(name, !sick(name, look)));
    if (path.includes("/configmaps/")) return pageAnswer({ [group]: { wanted: 0, ready: 0, old: 0 } });
    if (path.startsWith("/api/v1/nodes/"))
      return say({
        kind: "Node",
        metadata: { name, labels: isMarked ? { "node-role.kubernetes.io/control-plane": "" } : {} },
      });
    return path.includes("control-plane")
      ? nodeList(present.map(({ etcdName, address }) => ({ name: etcdName, address })))
      : nodeList(Array(count).fill({}));
  };
}

/** What an API server with the policy in force makes of a pod. */
export function placed(sent: string) {
  const { spec: given } = JSON.parse(sent);
  const runtimeClassName = given.containers[0].image === "x:ltsc2022" ? "windows-2022" : undefined;
  return say({ kind: "Pod", spec: { ...given, runtimeClassName } }, 201);
}

interface Passing {
  readonly limitSeconds?: number;
  readonly requestMs?: number;
  /** The gate's last state, and what an update sends. */
  readonly old?: unknown;
  readonly newInputs?: object;
  /** Of what is made. */
  readonly version?: string;
  /** Of the machine, and how many there are. */
  readonly index?: number;
  readonly apiServers?: number;
}

export type Args = Passing & { readonly api: pulumi.Input<ApiClient>; readonly patience: Patience };

/** The gates as the program makes them, with values that are outputs; each hook is called `gate`. */
const gates = {
  api: ({ api, patience }: Args) =>
    apiGate("gate", { machines: ["a"], members: [{ node: "cp-0" }, { node: "cp-1" }], api, patience }, {}),
  member: ({ api, patience }: Args) =>
    memberGate("gate", { machine: "a", node: pulumi.output({ node: "cp-0" }), api, patience }, {}),
  peers: ({ api, version = release, index = 0, patience }: Args) =>
    peersGate(
      "gate",
      {
        machine: { fingerprint, start: { name: "m", parts: [] }, parts: ["id"], after: [] },
        member: members[index] ?? assert.fail(),
        members,
        version,
        otherSize: (name) => `size-of-${name}`,
        api,
        patience,
      },
      {},
    ),
  pool: ({ api, patience }: Args) =>
    poolGate(
      "gate",
      {
        ...{ release, pool, fingerprint, roll: poolRoll(spec, pool), api, askRoll: async () => [] },
        ...{ patience, sent: { count, machines: undefined, id: group } },
      },
      {},
    ),
  policy: ({ api, apiServers = 1, patience }: Args) =>
    policyGate("gate", { proof, api, cluster: "one", apiServers, patience }, {}),
  release: ({ api, version = release, patience }: Args) =>
    releaseGuard("gate", { pool: pool.name, release: version, api, patience }),
  size: ({ api, patience }: Args) => sizeGuard("gate", { pool: pool.name, group, api, patience }),
};
type Gate = keyof typeof gates;

/** Runs a gate's hook as the engine would. */
export async function pass(
  gate: Gate | ((args: Args) => unknown),
  answer: (path: string, sent: string) => Answer,
  how: Passing = {},
) {
  const { old = { fingerprint: "b", replicas: 3 }, newInputs = { sku: { capacity: count } }, requestMs } = how;
  const patience = { everySeconds: 0.001, limitSeconds: how.limitSeconds ?? 30 };
  let recorded: Recorded | undefined;
  await serving(answer, async (api) => {
    const own = pulumi.secret({ ...api, ...(gate === "api" && { client }), ...(requestMs && { requestMs }) });
    const make = typeof gate === "string" ? gates[gate] : gate;
    recorded = await withMocks(() => void make({ ...how, api: own, patience }));
    await runHook(recorded, "gate", { urn: "urn:set", oldInputs: { input: old }, newInputs });
  });
  return recorded ?? assert.fail();
}

/** A call's path without names of objects. */
const kindOf = (path: string) =>
  path
    .replace(/\?.*/, "")
    .replace(/(etcd|kube-(apiserver|controller-manager|scheduler))-[^/]*$/, "$1")
    .replace(/leases\/.*/, "leases")
    .replace(/(?<=v1\/nodes\/).*/, "") + (path.includes("control-plane") ? " of the control plane" : "");

const all = ["api", "member", "peers", "pool", "policy", "release", "size"] as const;
/** Where the gate's machine is away. */
const away: Differences = { present: members.slice(2) };
const worlds: readonly (readonly [gate: Gate, world: Differences])[] = [
  ...all.map((gate) => [gate, {}] as const),
  ["peers", { present: members.slice(0, 1) }],
  ["peers", away],
];

type CallOfGate = readonly [gate: Gate, call: string, path: string, world: Differences];

/** Each gate with the kinds of call that it makes of a well cluster, and a path of each; found by passing it. */
export async function callsOfGates(): Promise<readonly CallOfGate[]> {
  const pairs: CallOfGate[] = [];
  for (const [gate, world] of worlds) {
    const [asked, well] = [new Map<string, string>(), cluster(world)];
    await pass(
      gate,
      (path, sent) => {
        asked.set(kindOf(path), path);
        return well(path, sent);
      },
      { limitSeconds: 5 },
    );
    pairs.push(...[...asked].map(([call, path]): CallOfGate => [gate, call, path, world]));
  }
  return pairs;
}

/** Asserts that a gate stays shut, and comes to an end, while one of its calls is answered wrongly. */
export async function staysShut([gate, call, , world]: CallOfGate, fault: string) {
  // A member that is away itself is made whatever a whole answer says of the others.
  if (world === away && call.includes("/pods/") && fault === "another node") return;
  const [wrong, well] = [faults[fault] ?? assert.fail(fault), cluster(world)];
  let isWrong = false;
  const answer = (path: string, sent: string) => {
    const was = well(path, sent);
    if (kindOf(path) !== call) return was;
    const given = wrong(was);
    isWrong ||= given.body !== was.body || given.status !== was.status || given.say !== undefined;
    return given;
  };
  const opened = await pass(gate, answer, { limitSeconds: 0.05, requestMs: 150 }).then(
    () => true,
    () => false,
  );
  assert.ok(!(opened && isWrong), `${gate} opens on ${call} answered by ${fault}`);
}
