import { diffArrays } from "diff";
import { z } from "zod";
import { mapFromWire } from "../../components/gates/values.ts";
import { at } from "../../components/model/json.ts";
import type { Problem } from "../../components/model/problem.ts";
import { type ClusterState, plannedProblems, readState, stackGuardName } from "../../components/model/upgrade.ts";
import { type BilledChange, billedChanges, billedOf } from "../billed.ts";
import { type Finding, grouped } from "../finding.ts";
import type { Plan, PlanMachine, PlanResource } from "../plan.ts";
import { type BasePlan, formerUrns } from "./base.ts";
import { changedLeaves, type LeafChange } from "./leaves.ts";
import { type Change, findOperations, type Operation } from "./operations.ts";

export interface NodeChange {
  readonly name: string;
  readonly role: PlanMachine["role"];
  readonly change: Change | "stays";
  readonly because: readonly string[];
  readonly count: readonly [before: number, now: number];
  /** How many of them a roll takes at a time. */
  readonly atATime: number;
  /** Machines that the autoscaler may run above what is allowed from now on. */
  readonly mayEnd?: number;
  /** Whether the disk of the control-plane machine is lost with it. */
  readonly data?: string;
}

/** Compared by leaves where it is JSON, else by lines. */
export interface FileChange {
  /** Those in which the same differs. */
  readonly machines: readonly string[];
  readonly path: string;
  readonly leaves: readonly LeafChange[];
  readonly lines: readonly LineChange[];
}

export interface PlanDiff {
  /** Changed settings of the stack file. */
  readonly settings: readonly LeafChange[];
  /** Gone for good: data, addresses, and the protection of both. */
  readonly lost: readonly { readonly name: string; readonly what: string }[];
  readonly refused: readonly Problem[];
  /** Custom resources that do not stay as they are, but for the program's gates. */
  readonly resources: readonly Operation[];
  readonly nodes: readonly NodeChange[];
  readonly files: readonly FileChange[];
  /** What is billed in another number than before. */
  readonly billed: readonly BilledChange[];
  readonly findings: { readonly new: readonly Finding[]; readonly gone: readonly Finding[] };
}

export function isEmpty({ refused, lost, resources, nodes, files, findings }: PlanDiff): boolean {
  const moved = nodes.filter(({ change }) => change !== "stays");
  return [refused, lost, resources, files, findings.new, findings.gone, moved].flat().length === 0;
}

export function diffPlans(base: BasePlan, asked: Plan): PlanDiff {
  const operations = findOperations(base, asked.resources);
  const plan = withKeptNumbers(base, asked);
  const key =
    (pools: readonly { readonly name: string }[]) =>
    ({ id, level, path }: Finding): string =>
      // A pool less moves the others up.
      `${id} ${level} ${path.replace(/\bpools\[(\d+)\]/, (place, index) => `pools ${pools[index]?.name ?? place}`)}`;
  const [keyBefore, keyNow] = [key(base.pools), key(plan.pools)];
  const [before, after] = [new Set(base.findings.map(keyBefore)), new Set(plan.findings.map(keyNow))];
  return {
    refused: [
      ...plannedProblems(stateOf(base), stateOf(plan)),
      ...refusedByCloud(operations),
      ...protectedProblems(base, plan, operations),
    ],
    settings: changedLeaves(base.settings, plan.settings),
    lost: lostOf(base, plan, operations),
    resources: operations.filter(({ type }) => type !== "pulumi:index:Stash"),
    nodes: nodeChanges(base, plan, operations),
    files: fileChanges(base, plan),
    billed: billedChanges(base.billed, plan.billed),
    findings: {
      new: plan.findings.filter((finding) => !before.has(keyNow(finding))),
      gone: base.findings.filter((finding) => !after.has(keyBefore(finding))),
    },
  };
}

/** The plan with the present machines of each group whose number a transform tells an update to leave. */
function withKeptNumbers(base: BasePlan, plan: Plan): Plan {
  const isLeft = ({ name }: PlanMachine): boolean => {
    const pool = plan.pools.find((each) => name === `${plan.cluster.name}-pool-${each.name}-group`);
    // The program itself leaves it where others size a group: the autoscaler, or a setting of Azure Monitor.
    if (pool === undefined || pool.autoscale !== null) return false;
    if (plan.resources.some((each) => each.name === `${plan.cluster.name}-pool-${pool.name}-count`)) return false;
    const { ignoreChanges } = plan.resources.find((each) => each.name === name)?.options ?? {};
    return (
      Array.isArray(ignoreChanges) && ignoreChanges.some((path) => /^(\*|desiredCapacity|sku(\.capacity)?)$/.test(path))
    );
  };
  const machines = plan.machines.map((machine) => {
    const count = base.machines.find(({ name }) => name === machine.name)?.count;
    return count !== undefined && isLeft(machine) ? { ...machine, count } : machine;
  });
  if (machines.every(({ count }, index) => count === plan.machines[index]?.count)) return plan;
  const resources = plan.resources.map(({ type, name, custom, existing, inputs }) => ({
    ...{ type, name, custom, inputs: mapFromWire(Object(inputs)) },
    ...(existing === true && { read: name }),
  }));
  return { ...plan, machines, billed: billedOf(resources, machines) };
}

const guardInput = z.object({ inputs: z.object({ input: z.unknown() }) });

/** What the guard keeps of a cluster: a comparison refuses what an update would. */
function stateOf({ cluster, controlPlane, resources }: BasePlan | Plan): ClusterState {
  const { name, cloud, kubernetes: version, accountId } = cluster;
  const guard = resources.find((each) => each.type === "pulumi:index:Stash" && each.name === stackGuardName);
  const state = readState(guardInput.safeParse(guard).data?.inputs.input);
  return {
    version,
    replicas: controlPlane.members.length,
    ...state,
    name,
    cloud,
    ...(accountId !== null && { accountId }),
  };
}

function lostOf(base: BasePlan, plan: Plan, operations: readonly Operation[]): PlanDiff["lost"] {
  // Nobody keeps data in a sample.
  const data = operations.flatMap(({ name, data, change }) =>
    data === undefined || /-in-samples-/.test(name)
      ? []
      : [{ name, what: `${data}${change === "may-be-replaced" ? ", if it is replaced" : ""}` }],
  );
  const former = formerUrns(base.resources, plan.resources);
  const known = (resources: Plan["resources"]) => new Set(resources.map(({ urn }) => former.get(urn) ?? urn));
  const [now, kept] = [known(plan.resources), known(plan.resources.filter(({ options }) => options.protect === true))];
  const bared = base.resources.filter(({ urn, options }) => options.protect === true && now.has(urn) && !kept.has(urn));
  if (bared.length === 0) return data;
  const names = bared.map(({ name }) => name).sort();
  return [...data, { name: "protection", what: `may be deleted from now on: ${names.join(", ")}` }];
}

function refusedByCloud(operations: readonly Operation[]): readonly Problem[] {
  return operations
    .filter(({ change }) => change === "refused")
    .flatMap(({ name, because, inputs }) =>
      because.map((key) => ({
        path: `${name} ${key}`,
        value: inputs.find(({ path }) => path.startsWith(key))?.now,
        message: "cannot change: Azure refuses the update",
        allowed: "the value that it has",
        remedy: "set it back, or add another one beside it and move the workloads",
      })),
    );
}

/** The engine stops an update that would delete what is protected. */
function protectedProblems(base: BasePlan, plan: Plan, operations: readonly Operation[]): readonly Problem[] {
  const options = new Map<string, PlanResource["options"]>(
    [...base.resources, ...plan.resources].map(({ urn, options: given }) => [urn, given]),
  );
  return operations
    .filter(({ urn, change }) => ["replaced", "removed"].includes(change) && options.get(urn)?.protect === true)
    .map(({ name, type, change }) => ({
      path: name,
      value: type,
      message: `is protected, and would be ${change}`,
      allowed: "a change that keeps it",
      remedy: `undo what ${change === "removed" ? "removes" : "replaces"} it; to give it up with its data, run pulumi state unprotect first`,
    }));
}

const machineTypes =
  /^(aws:ec2\/instance:Instance|aws:autoscaling\/group:Group|azure-native:compute:VirtualMachine(ScaleSet)?)$/;

function nodeChanges(base: BasePlan, plan: Plan, operations: readonly Operation[]): readonly NodeChange[] {
  const before = new Map(base.machines.map((machine) => [machine.name, machine]));
  const after = new Map(plan.machines.map((machine) => [machine.name, machine]));
  return [...new Set([...after.keys(), ...before.keys()])].sort().map((name): NodeChange => {
    const [old, now] = [before.get(name), after.get(name)];
    const operation = operations.find((each) => each.name === name && machineTypes.test(each.type));
    const parent = plan.resources.find(({ urn }) => urn === operation?.urn)?.parent;
    const siblings = new Set(plan.resources.filter((each) => each.parent === parent).map(({ urn }) => urn));
    const ending = mayEnd(base, plan, name);
    const disk = operations.find(({ urn, data }) => data !== undefined && siblings.has(urn));
    return {
      name,
      role: now?.role ?? old?.role ?? "linux",
      change: operation?.change ?? withoutOperation(old, now),
      because: operation?.because ?? [],
      count: [old?.count ?? 0, old === undefined ? (now?.count ?? 0) : kept(plan, name, old.count, now?.count ?? 0)],
      atATime: atATime(plan.resources.find(({ urn }) => urn === operation?.urn)?.inputs, now?.count ?? 0),
      ...(ending > 0 && { mayEnd: ending }),
      ...(disk?.data !== undefined && { data: disk.data }),
    };
  });
}

/** A group that scales by itself stays as it is, within its bounds. */
function kept({ pools, cluster }: Plan, group: string, before: number, now: number): number {
  const bounds = pools.find(({ name }) => group === `${cluster.name}-pool-${name}-group`)?.autoscale;
  return bounds === undefined || bounds === null ? now : Math.min(Math.max(before, bounds.min), bounds.max);
}

/** How many machines an autoscaled group may have above its new bound or its new fixed number. */
function mayEnd(base: BasePlan, plan: Plan, group: string): number {
  const named = ({ name }: { readonly name: string }): boolean => group === `${plan.cluster.name}-pool-${name}-group`;
  const most = base.pools.find(named)?.autoscale?.max;
  const now = plan.pools.find(named);
  return most === undefined ? 0 : Math.max(0, most - (now?.autoscale?.max ?? now?.count ?? 0));
}

function atATime(inputs: unknown, count: number): number {
  const percent = [
    Number(at(inputs, "upgradePolicy.rollingUpgradePolicy.maxBatchInstancePercent")),
    Number(at(inputs, "instanceRefresh.preferences.maxHealthyPercentage")) -
      Number(at(inputs, "instanceRefresh.preferences.minHealthyPercentage")),
  ].find((each) => each > 0);
  return Math.max(1, Math.floor((count * (percent ?? 0)) / 100));
}

type Machine = BasePlan["machines"][number] | PlanMachine;

/** The operation of a machine with other user data is its resource's; without one it is unknown. */
function withoutOperation(old: Machine | undefined, now: Machine | undefined): NodeChange["change"] {
  if (old === undefined || now === undefined) return old === undefined ? "added" : "removed";
  return old.userData.sha256 === now.userData.sha256 ? "stays" : "may-be-replaced";
}

/** Digests of what differs elsewhere: stages, what a machine is made of, Windows scripts to fetch. */
const derived =
  /(?<=\t)[0-9a-f]{16}(?=\t)|(?<="hash": ?")[0-9a-f]+|(?<=payload=)[0-9a-f]+|(?<="windows\/)[0-9a-f]{64}\.json", ?"sha256": ?"[0-9a-f]{64}/g;

function fileChanges(base: BasePlan, plan: Plan): readonly FileChange[] {
  const before = new Map(base.machines.map((machine) => [machine.name, machine.files]));
  const all = plan.machines.flatMap(({ name, files }) => {
    const old = before.get(name);
    if (old === undefined) return [];
    const contents = (list: readonly { path: string; content: string }[]) =>
      new Map(
        list.map(({ path, content }) => [
          path,
          /\b(stages\.tsv|machine\.json|scripts\.json)$/.test(path) ? content.replaceAll(derived, "…") : content,
        ]),
      );
    const [was, is] = [contents(old), contents(files)];
    return [...new Set([...was.keys(), ...is.keys()])]
      .sort()
      .filter((path) => was.get(path) !== is.get(path))
      .map((path): FileChange => {
        const [left, right] = [was.get(path), is.get(path)];
        const json = path.endsWith(".json") ? changedLeaves(left, right) : [];
        const byLeaf = json.length > 0 && json.every((leaf) => leaf.path !== "");
        return {
          machines: [name],
          path,
          leaves: byLeaf ? json : [],
          lines: byLeaf ? [] : diffLines(left ?? "", right ?? ""),
        };
      });
  });
  return grouped(all, (change) => JSON.stringify({ ...change, machines: [] })).map(([first, same]) => ({
    ...first,
    machines: same.flatMap(({ machines }) => machines),
  }));
}

interface LineChange {
  readonly kind: "+" | "-";
  /** Number in the new file for `+`, in the old one for `-`. */
  readonly line: number;
  readonly text: string;
}

/** The fewest added and removed lines that lead from one text to the other. */
function diffLines(old: string, now: string): readonly LineChange[] {
  const next = { "-": 1, "+": 1 };
  return diffArrays(old.split("\n"), now.split("\n")).flatMap(({ added, removed, value }): LineChange[] => {
    const kind = added ? "+" : removed ? "-" : undefined;
    if (kind !== undefined) return value.map((text) => ({ kind, line: next[kind]++, text }));
    next["-"] += value.length;
    next["+"] += value.length;
    return [];
  });
}
