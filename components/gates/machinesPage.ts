import { fromJson } from "../model/json.ts";
import { type ApiClient, answerProblem, askApi, entries, field, list, text } from "./apiProbe.ts";

/** Where the node controller says how the machines are (components/nodeController/program/status.py): key `status`. */
export const machinesPage = { namespace: "kube-system", name: "fenestra-machines" } as const;

/** The page, empty before the controller's first round, and the server's time. Throws when it cannot be read. */
export async function readPage(api: ApiClient): Promise<{ readonly page: string; readonly at: number }> {
  const { namespace, name } = machinesPage;
  const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
  const { status, body, at } = await askApi(api, path);
  const found = fromJson(body);
  if (status === 404 && field(found, "kind") === "Status") return { page: "", at };
  if (status !== 200 || answerProblem(path, found) !== undefined)
    throw new Error(`the API answers ${status} to the node controller's page, ConfigMap ${namespace}/${name}`);
  return { page: text(field(field(found, "data"), "status")), at };
}

/**
 * Machines that the cloud is to have in a group, joined or not; 0 before the controller's first round and for a group
 * that is new to it. Throws when the page is too old to be believed, or says something else.
 *
 * @param now seconds of the epoch, of the cluster's clock
 */
export function wantedOn(page: string, group: string, now: number): number {
  if (page === "") return 0;
  const status = fromJson(page);
  const at = Number(field(status, "at"));
  if (!(Math.abs(now - at) <= staleSeconds))
    throw new Error(
      `the node controller's page is not of now: ${[...shortfalls(page, now), ...early(status, now)].join("; ")}`,
    );
  const pools = field(status, "pools");
  if (typeof pools !== "object" || pools === null) throw new Error("the node controller's page names no pools");
  const pool = field(pools, group);
  const wanted = field(pool, "wanted");
  if (pool !== undefined && !(typeof wanted === "number" && Number.isInteger(wanted) && wanted >= 0))
    throw new Error(`the node controller's page has no number of machines for ${group}`);
  return typeof wanted === "number" ? wanted : 0;
}

const lists: readonly (readonly [key: string, words: string])[] = [
  ["joining", "on their way"],
  ["leaving", "leaving"],
  ["unready", "not Ready"],
  ["sick", "not Ready for too long, to be replaced"],
  ["zombie", "without a Node although their kubelets run, to be replaced"],
  ["lost", "never joined, to be replaced"],
  ["silent", "Ready, but nobody looks after them: their health tasks say nothing"],
  ["held", "stopped or in standby: start them, or have the cloud delete them"],
];

/** Lists of machines that somebody must look at; others change by themselves. */
const troubles: ReadonlySet<string> = new Set(["unready", "sick", "zombie", "lost", "silent", "held"]);

/** States of a failed roll, as Auto Scaling names them. */
const rollProblem = /fail|cancel|rollback/i;

/** Seconds without news after which nobody leads: an unchanged page is written every 60. */
const staleSeconds = 180;

const early = (status: unknown, now: number): readonly string[] =>
  Number(field(status, "at")) - now > staleSeconds ? ["the page is of the future"] : [];

/** What a node controller owes and does not do; empty while one is at work and does all. Pure. */
export function shortfalls(page: string, now: number): readonly string[] {
  const status = fromJson(page);
  const at = Number(field(status, "at"));
  if (!(at > 0))
    return [
      "the node controller has said nothing yet: systemctl status fenestra-node-controller on a control-plane machine",
    ];
  const skipped = Number(field(field(status, "requests"), "skipped")) || 0;
  return [
    ...(now - at > staleSeconds
      ? [`nobody has written since ${new Date(at * 1000).toISOString()}: no node controller leads, or it cannot write`]
      : []),
    ...entries(field(status, "duties")).map(
      ([duty, why]) => `the node controller does not get its ${duty} done: ${text(why)}`,
    ),
    ...(skipped > 0
      ? [`${skipped} requests for certificates are too long or too odd to read: somebody made them`]
      : []),
  ];
}

/**
 * What the page says, in lines that are safe for a terminal. Pure.
 *
 * @param now seconds of the epoch
 * @param only name of one group. Default: all.
 */
export function pageLines(page: string, now: number, only?: string): readonly string[] {
  const status = fromJson(page);
  const requests = field(status, "requests");
  const waiting = Number(field(requests, "waiting"));
  const again = field(requests, "again") ?? {};
  const lines = [
    ...shortfalls(page, now),
    ...standstills(status),
    ...entries(field(status, "pools"))
      .filter(([name]) => only === undefined || name === only)
      .flatMap(([name, pool]) => poolLines(name, pool)),
    ...(waiting > 0
      ? [`${waiting} certificate requests wait: ${list(field(requests, "reasons")).map(text).join("; ")}`]
      : []),
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
function standstills(status: unknown): readonly string[] {
  const halt = text(field(status, "halt"));
  return [
    ...(halt === "" ? [] : [`nothing is replaced or removed: ${halt}`]),
    ...list(field(field(status, "cloud"), "problems")).map((why) => `the cloud's list is not whole: ${text(why)}`),
  ];
}

/** A text for a terminal: printable ASCII, shortened. */
export function printable(line: string, most = 300): string {
  return line.replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, most);
}

/**
 * What the page says is wrong: machines that are wanted and not Ready, pools that are held up, and all that waits for
 * somebody. Pure.
 *
 * @param wanted names of the stack's pools, in which the names of their groups end
 * @param now seconds of the epoch, of the cluster's clock
 */
export function pageProblems(page: string, wanted: readonly string[], now: number): readonly string[] {
  const status = fromJson(page);
  const pools = field(status, "pools");
  const named = entries(pools);
  const waiting = Number(field(field(status, "requests"), "waiting")) || 0;
  const problems = [
    ...shortfalls(page, now),
    ...early(status, now),
    ...(Array.isArray(pools) || typeof pools !== "object" || pools === null ? ["the page names no pools"] : []),
    ...unnamed(
      wanted,
      named.map(([group]) => group),
    ).map((pool) => `the page names no pool ${pool}`),
    ...standstills(status),
    ...(waiting > 0 ? [`${waiting} certificate requests wait`] : []),
    ...named.flatMap(([name, pool]) => {
      const counts = [field(pool, "wanted"), field(pool, "ready")];
      const well = counts.every((each) => Number.isInteger(each) && Number(each) >= 0) && counts[0] === counts[1];
      const ill = lists.some(([key]) => troubles.has(key) && list(field(pool, key)).length > 0);
      const failed =
        rollProblem.test(text(field(field(pool, "roll"), "state"))) || text(field(field(pool, "roll"), "why")) !== "";
      return well && !ill && !failed && text(field(pool, "frozen")) === ""
        ? []
        : [
            poolLines(name, pool)
              .map((line) => line.trim())
              .join(", "),
          ];
    }),
  ];
  return problems.map((problem) => printable(problem));
}

/** Pools without a group. A group's name is the cluster's, which the page does not name, and the pool's. */
function unnamed(pools: readonly string[], groups: readonly string[]): readonly string[] {
  const clusters = pools.flatMap((pool) =>
    groups.flatMap((group) => (`-${group}`.endsWith(`-${pool}`) ? group.slice(0, group.length - pool.length) : [])),
  );
  const left = clusters.map((cluster) => pools.filter((pool) => !groups.includes(cluster + pool)));
  return left.toSorted((a, b) => a.length - b.length)[0] ?? pools;
}

/** Groups at whose gates an update waits: with machines of an older template, or fewer or more than wanted. Pure. */
export function unfinishedPools(page: string): readonly string[] {
  return entries(field(fromJson(page), "pools")).flatMap(([name, pool]) => {
    const [wanted, ready, old] = ["wanted", "ready", "old"].map((key) => Number(field(pool, key)) || 0);
    return ready === wanted && old === 0 ? [] : [printable(name)];
  });
}

function poolLines(name: string, pool: unknown): readonly string[] {
  const number = (key: string): number => Number(field(pool, key)) || 0;
  const roll = field(pool, "roll");
  const old = number("old");
  const machines = lists.flatMap(([key, words]) => {
    const names = list(field(pool, key)).map(text);
    return names.length === 0 ? [] : [`  ${words}: ${names.join(", ")}`];
  });
  const frozen = text(field(pool, "frozen"));
  const since = text(field(roll, "since"));
  const told = [
    `${text(field(roll, "state"))}${since === "" ? "" : ` since ${since}`}`,
    text(field(roll, "why")),
  ].filter((words) => words !== "");
  return [
    `${name}: ${number("ready")} of ${number("wanted")} Ready${old === 0 ? "" : `, ${old} with an older template`}`,
    ...machines,
    ...(frozen === "" ? [] : [`  nothing is replaced: ${frozen}`]),
    ...(told.length === 0 ? [] : [`  roll: ${told.join(": ")}`]),
  ];
}
