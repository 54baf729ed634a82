import { z } from "zod";
import { formProblem, fromJson } from "../model/json.ts";
import { harmless } from "../model/messages.ts";
import { type ApiClient, answerProblem, askApi } from "./apiProbe.ts";

/** Where the node controller says how the machines are: a page below the key `status`. */
export const machinesPage = { namespace: "kube-system", name: "fenestra-machines" } as const;

const count = z.int().nonnegative();
const byName = <T extends z.ZodType>(value: T) => z.record(z.string(), value);

/**
 * A list of machines that are not well, `NAME since TIME`, at most 20 and a last line for the others.
 *
 * @param shown what `status` says of them
 * @param description when a machine is in it (components/nodeController/program/judge.py, `condition`)
 * @param passes whether they change by themselves; else somebody must look
 */
const machines = (shown: string, description: string, passes = false) =>
  z
    .array(z.string())
    .max(21)
    .default([])
    .meta({ description, shown })
    .transform((names) => ({ shown, passes, names }));

const pool = z.object({
  wanted: count.describe("Machines that the cloud is to have in the group, joined or not."),
  ready: count.describe("Machines that are well."),
  old: count.describe("Machines of an older template."),
  joining: machines("on their way", "It has no Node yet, and time left to join.", true),
  leaving: machines("leaving", "The cloud ends it, or has ended it.", true),
  unready: machines("not Ready", "Its Node is not Ready, or is still that of a machine before."),
  sick: machines(
    "not Ready for too long, to be replaced",
    "Its Node has not been Ready for `repair.notReadyAfter`, or the cloud calls the machine failed.",
  ),
  zombie: machines(
    "without a Node although their kubelets run, to be replaced",
    "Its kubelet renews its lease or has had a Node, and makes none within `repair.joinWithin`.",
  ),
  lost: machines("never joined, to be replaced", "It has not joined within `repair.joinWithin`."),
  silent: machines(
    "Ready, but nobody looks after them: their health tasks say nothing",
    "Its Node is Ready, and its health task has said nothing for 20 minutes.",
  ),
  held: machines("stopped or in standby: start them, or have the cloud delete them", "The cloud does not run it."),
  frozen: z.string().optional().describe("Why nothing of the pool is replaced."),
  roll: z
    .object({
      state: z.string().optional().describe("As the cloud names it."),
      since: z.string().optional(),
      why: z.string().optional().describe("What stops it."),
    })
    .optional(),
});

/**
 * The page: what the node controller writes (components/nodeController/page.schema.json is made from it, and its tests
 * hold every page to that) and who reads it. All that may be missing is missing while there is nothing to say.
 */
export const pageSchema = z.object({
  at: z.number().positive().describe("When anything below changed, in seconds of the epoch; at least each minute."),
  leader: z.string().optional().describe("Who wrote it."),
  duties: byName(z.string()).default({}).describe("By duty, why it has not been done whole for a minute."),
  halt: z.string().optional().describe("Why no Node is removed, or nothing is replaced, in the whole cluster."),
  cloud: z
    .object({ problems: z.array(z.string()) })
    .default({ problems: [] })
    .describe("Why the cloud's list is not whole."),
  pools: byName(pool).optional().describe("By the name of the group in the cloud; missing before the first round."),
  requests: z
    .object({
      waiting: count.default(0).describe("Requests for certificates that wait."),
      denied: count.default(0).describe("Those denied since the leader started."),
      reasons: z.array(z.string()).default([]).describe("Why they wait."),
      skipped: count.default(0).describe("Those that nobody can read."),
      again: byName(count)
        .default({})
        .describe("By pool of the token, first certificates of the last hour that followed one that was not used."),
    })
    .prefault({}),
});
type Page = z.output<typeof pageSchema>;
type Pool = z.output<typeof pool>;

/** The page's text, empty before the controller's first round, and the server's time. Throws when it cannot be read. */
export async function readPage(api: ApiClient): Promise<{ readonly page: string; readonly at: number }> {
  const { namespace, name } = machinesPage;
  const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
  const { status, body, at } = await askApi(api, path);
  const found = fromJson(body);
  if (status === 404 && noObject.safeParse(found).success) return { page: "", at };
  if (status !== 200 || answerProblem(path, found) !== undefined)
    throw new Error(`the API answers ${status} to the node controller's page, ConfigMap ${namespace}/${name}`);
  return { page: configMap.parse(found).data.status, at };
}

/** What the API says of an object that is not there, unlike a proxy. */
const noObject = z.object({ kind: z.literal("Status") });
const configMap = z.object({ data: z.object({ status: z.string().default("") }).prefault({}) });

/** The page of a text, or what is wrong with it. */
function parsed(text: string): { readonly page: Page } | { readonly page?: never; readonly problem: string } {
  if (text === "")
    return {
      problem:
        "the node controller has said nothing yet: systemctl status fenestra-node-controller on a control-plane machine",
    };
  const { data: page, error } = pageSchema.safeParse(fromJson(text));
  return page === undefined
    ? { problem: `the node controller's page is not one of its own: ${formProblem(error)}` }
    : { page };
}

/** Seconds without news after which nobody leads: an unchanged page is written every 60. */
const staleSeconds = 180;

/** Why a page is not one of now. */
function untimely({ at }: Page, now: number): readonly string[] {
  if (at - now > staleSeconds) return ["the page is of the future"];
  if (now - at <= staleSeconds) return [];
  return [
    `nobody has written since ${new Date(at * 1000).toISOString()}: no node controller leads, or it cannot write`,
  ];
}

/**
 * Machines that the cloud is to have in a group, joined or not; 0 before the controller's first round and for a group
 * that is new to it. Throws when the page is too old to be believed, or says something else.
 *
 * @param now seconds of the epoch, of the cluster's clock
 */
export function wantedOn(text: string, group: string, now: number): number {
  if (text === "") return 0;
  const read = parsed(text);
  if (read.page === undefined) throw new Error(read.problem);
  const { pools } = read.page;
  const [problem] = untimely(read.page, now);
  if (problem !== undefined) throw new Error(`the node controller's page is not of now: ${problem}`);
  if (pools === undefined) throw new Error("the node controller's page names no pools");
  return pools[group]?.wanted ?? 0;
}

/** What a node controller owes and does not do; empty while one is at work and does all. Pure. */
function undone(page: Page, now: number): readonly string[] {
  const { duties, requests } = page;
  return [
    ...untimely(page, now),
    ...Object.entries(duties).map(([duty, why]) => `the node controller does not get its ${duty} done: ${why}`),
    ...(requests.skipped > 0
      ? [`${requests.skipped} requests for certificates are too long or too odd to read: somebody made them`]
      : []),
  ];
}

/**
 * What the page says, in lines that are safe for a terminal. Pure.
 *
 * @param now seconds of the epoch
 * @param only name of one group. Default: all.
 */
export function pageLines(text: string, now: number, only?: string): readonly string[] {
  const read = parsed(text);
  if (read.page === undefined) return [printable(read.problem)];
  const { pools = {}, requests } = read.page;
  const { waiting, reasons, again } = requests;
  const lines = [
    ...undone(read.page, now),
    ...standstills(read.page),
    ...Object.entries(pools)
      .filter(([name]) => only === undefined || name === only)
      .flatMap(([name, each]) => poolLines(name, each)),
    ...(waiting > 0 ? [`${waiting} certificate requests wait: ${reasons.join("; ")}`] : []),
    ...(Object.keys(again).length > 0
      ? [
          `first certificates of the last hour after one that was not used, by pool of the token: ${JSON.stringify(again)}; ` +
            "a kubelet that was restarted, or somebody with that token",
        ]
      : []),
  ];
  return lines.map((line) => printable(line));
}

/** What stops the controller in the whole cluster. */
function standstills({ halt, cloud }: Page): readonly string[] {
  return [
    ...(halt === undefined ? [] : [`nothing is replaced or removed: ${halt}`]),
    ...cloud.problems.map((why) => `the cloud's list is not whole: ${why}`),
  ];
}

/** A text for a terminal: printable ASCII, shortened. */
export function printable(line: string, most = 300): string {
  return harmless(line.replaceAll(/[^\x20-\x7e]+/g, " ")).slice(0, most);
}

/**
 * What the page says is wrong: machines that are wanted and not Ready, pools that are held up, and all that waits for
 * somebody. Pure.
 *
 * @param wanted names of the stack's pools, in which the names of their groups end
 * @param now seconds of the epoch, of the cluster's clock
 */
export function pageProblems(text: string, wanted: readonly string[], now: number): readonly string[] {
  const read = parsed(text);
  if (read.page === undefined) return [printable(read.problem)];
  const { pools, requests } = read.page;
  const problems = [
    ...undone(read.page, now),
    ...(pools === undefined ? ["the page names no pools"] : []),
    ...unnamed(wanted, Object.keys(pools ?? {})).map((each) => `the page names no pool ${each}`),
    ...standstills(read.page),
    ...(requests.waiting > 0 ? [`${requests.waiting} certificate requests wait`] : []),
    ...Object.entries(pools ?? {})
      .filter(([, each]) => !isWell(each))
      .map(([name, each]) =>
        poolLines(name, each)
          .map((line) => line.trim())
          .join(", "),
      ),
  ];
  return problems.map((problem) => printable(problem));
}

/** A state of a failed roll, as Auto Scaling names it. */
const failedRoll = /fail|cancel|rollback/i;

function isWell({ wanted, ready, old: _old, frozen, roll, ...lists }: Pool): boolean {
  const isRolling = roll?.why === undefined && !failedRoll.test(roll?.state ?? "");
  const isLookedAt = Object.values(lists).every(({ passes, names }) => passes || names.length === 0);
  return wanted === ready && isLookedAt && isRolling && frozen === undefined;
}

/**
 * Pools without a group. A group's name is the cluster's, which the page does not name, and the pool's: of all that it
 * may be, the cluster's name is the one by which the most pools have theirs.
 */
function unnamed(pools: readonly string[], groups: readonly string[]): readonly string[] {
  const clusters = pools.flatMap((pool) =>
    groups.filter((group) => `-${group}`.endsWith(`-${pool}`)).map((group) => group.slice(0, -pool.length)),
  );
  const missing = clusters.map((cluster) => pools.filter((pool) => !groups.includes(cluster + pool)));
  const [fewest = pools] = missing.toSorted((a, b) => a.length - b.length);
  return fewest;
}

/** Groups at whose gates an update waits: with machines of an older template, or fewer or more than wanted. Pure. */
export function unfinishedPools(text: string): readonly string[] {
  return Object.entries(parsed(text).page?.pools ?? {}).flatMap(([name, { wanted, ready, old }]) =>
    ready === wanted && old === 0 ? [] : [printable(name)],
  );
}

function poolLines(name: string, { wanted, ready, old, frozen, roll = {}, ...lists }: Pool): readonly string[] {
  const state = [roll.state, roll.since].filter((each) => each !== undefined).join(" since ");
  const told = [state, roll.why].filter(Boolean);
  return [
    `${name}: ${ready} of ${wanted} Ready${old === 0 ? "" : `, ${old} with an older template`}`,
    ...Object.values(lists).flatMap(({ shown, names }) =>
      names.length === 0 ? [] : `  ${shown}: ${names.join(", ")}`,
    ),
    ...(frozen === undefined ? [] : [`  nothing is replaced: ${frozen}`]),
    ...(told.length === 0 ? [] : [`  roll: ${told.join(": ")}`]),
  ];
}
