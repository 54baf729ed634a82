import { joinSeconds } from "../../../components/model/timings.ts";
import { escapeHtml } from "../markdown.ts";
import type { Plan, PlanPool } from "../plan.ts";
import { folded, table } from "./elements.ts";

type Path = NonNullable<PlanPool["toReady"]>;

/** A bar: one thing that a machine does, from its launch on. */
export interface Bar {
  readonly name: string;
  readonly start: number;
  readonly seconds: number;
  readonly megabytes: number;
  /** Bars of one lane follow each other. */
  readonly lane: number;
}

/** Kinds of bars, for their colours. */
const kinds: Readonly<Record<string, string>> = {
  "first boot of the image": "boot",
  reboot: "boot",
  os: "install",
  artifacts: "download",
  programs: "download",
};

/** The bars of a path: its steps one after the other, what runs at the same time in lanes of its own. */
export function bars({ steps }: Path): readonly Bar[] {
  let start = 0;
  return steps.flatMap(({ parts, seconds }) => {
    const at = start;
    start += seconds;
    return [...parts].sort((a, b) => b.seconds - a.seconds).map((part, lane) => ({ ...part, start: at, lane }));
  });
}

/** What happens until the machines are Ready, a row per pool. Pools that do the same are drawn once. */
export function timeline({ pools }: Plan): string {
  const longest = Math.max(60, ...pools.map(({ toReady }) => toReady?.seconds ?? 0));
  const groups = Map.groupBy(pools, ({ build, toReady }) => `${build === null} ${JSON.stringify(toReady)}`);
  const rows = [...groups.values()].map((members) => row(members, longest));
  return `<ol class="order">
<li><b>Control plane.</b> Its machines start first; the update goes on when the API answers and every member is healthy.</li>
<li><b>Pools,</b> all at once, and what the cluster itself needs beside them. A pool's bars begin at the launch of its machines.</li>
<li><b>Gates.</b> Each pool's gate opens when its nodes are Ready.</li>
</ol>
${rows.join("\n")}
<ul class="legend" aria-label="Colours"><li class="boot">boot and reboot</li><li class="install">features of the system</li><li class="download">downloads</li><li class="join">runtime, network, joining</li></ul>
<p class="source">The bars are estimates, not measurements: seconds of a machine with two processors and a line of 500 Mbit/s, from <code>components/machine/windows/criticalPath.ts</code>, which names for each download whether its size is measured. The limits are settings, <code>joinSeconds</code> in <code>components/model/timings.ts</code>.</p>`;
}

function row(pools: readonly PlanPool[], longest: number): string {
  const [first] = pools;
  const names = pools.map(({ name }) => escapeHtml(name)).join(", ");
  const path = first?.toReady ?? null;
  const limit = `replaced when it has not joined after ${minutes(joinSeconds[first?.build === null ? "linux" : "windows"])}`;
  if (path === null)
    return `<div class="way"><h3>${names}</h3><p class="detail">No estimate: nothing is measured or assumed for Linux; a machine is ${limit}.</p><div class="track unknown"></div></div>`;
  const all = bars(path);
  const lanes = 1 + Math.max(...all.map(({ lane }) => lane));
  const drawn = all.map(
    ({ name, start, seconds, lane }, index) =>
      `<span class="bar ${kinds[name] ?? "join"}" style="left:${percent(start, longest)};width:${percent(seconds, longest)};top:${lane * 1.6}rem">${seconds / longest > 0.025 ? index + 1 : ""}</span>`,
  );
  const loads = `${path.megabytes} MB before Ready, ${path.besideMegabytes} MB beside it, ${path.estimatedMegabytes} MB of these estimated`;
  return `<div class="way"><h3>${names} <span class="about">about ${minutes(path.seconds)}</span></h3>
<p class="detail">${loads}; ${path.reboots} reboot; ${limit}.</p>
<div class="track" aria-hidden="true" style="height:${lanes * 1.6}rem">${drawn.join("")}</div>
<div class="scale" aria-hidden="true">${ticks(longest)}</div>
${folded(
  `The ${all.length} steps of ${names}`,
  table(
    `Steps to Ready of ${pools.map(({ name }) => name).join(", ")}`,
    ["Step", "Starts at", "Takes", "Downloads"],
    all.map(({ name, start, seconds, megabytes }, index) => [
      `${index + 1}. ${escapeHtml(name)}`,
      `${start} s`,
      `${seconds} s, estimate`,
      megabytes === 0 ? "none" : `${megabytes} MB`,
    ]),
  ),
)}</div>`;
}

function ticks(longest: number): string {
  return Array.from({ length: Math.floor((0.93 * longest) / 60) + 1 }, (_, minute) => {
    const label = minute === 0 ? "launch" : `${minute} min`;
    return `<span style="left:${percent(minute * 60, longest)}">${label}</span>`;
  }).join("");
}

function percent(seconds: number, longest: number): string {
  return `${Math.round((10_000 * seconds) / longest) / 100}%`;
}

function minutes(seconds: number): string {
  return `${Math.round(seconds / 60)} min`;
}
