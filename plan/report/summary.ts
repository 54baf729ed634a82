import { roomInWords } from "../../components/model/allocatable.ts";
import { billedLines, counted } from "../billed.ts";
import { type Paint, plain } from "../diff/text.ts";
import { groupFindings, type Level, levels, placesOf } from "../finding.ts";
import type { Plan } from "../plan.ts";

const marks = { error: "✗", warning: "!", note: "·" } as const;
const colours = { error: "red", warning: "yellow", note: "dim" } as const;

/** The plan for the terminal, short enough to read in one go. */
export function planSummary(plan: Plan, paint: Paint = plain): string {
  return [
    ...overview(plan),
    ...(plan.messages.length === 0 ? [] : ["", ...plan.messages.map(({ severity, text }) => `${severity}: ${text}`)]),
    "",
    ...findingLines(plan, paint),
    "",
  ].join("\n");
}

/** Network, control plane, pools, machines, numbers of resources, what is billed. */
export function overview(plan: Plan): readonly string[] {
  const { cluster } = plan;
  const read = plan.resources.filter(({ existing }) => existing === true).length;
  return [
    `${plan.stack}: Kubernetes ${cluster.kubernetes} on ${cluster.cloud}, ${cluster.region}, ${cluster.environment}`,
    "",
    ...nodeTree(plan),
    "",
    ...poolTable(plan),
    "",
    ...machineTable(plan),
    "",
    `${resourcesInWords(plan)}${read === 0 ? "" : `; ${counted(read, "existing resource")} read`}`,
    "Billed by time:",
    ...billedLines(plan.billed).map((line) => `  ${line}`),
  ];
}

function poolTable({ pools }: Plan): readonly string[] {
  const rows = pools.map((pool) => [
    pool.name,
    pool.os,
    pool.size,
    countInWords(pool),
    pool.zones.join(" "),
    roomInWords(pool.room),
    pool.taints.join(" ") || "-",
    pool.runtimeClass ?? "-",
  ]);
  return table([["Pool", "System", "Size", "Count", "Zones", "For pods", "Taints", "RuntimeClass"], ...rows], true);
}

function machineTable({ machines }: Plan): readonly string[] {
  const rows = machines.map(({ name, count, files, userData }) => [
    count === 1 ? name : `${name} (${count})`,
    String(files.length),
    `${userData.bytes} B`,
    `${userData.limit} B`,
    `${((100 * userData.bytes) / userData.limit).toFixed(1)} %`,
  ]);
  return table([["Machine", "Files", "User data", "Limit", "Used"], ...rows], true);
}

/** How many resources there are, in all and by provider. */
function resourcesInWords({ resources }: Plan): string {
  const made = resources.filter(({ custom, existing }) => custom && existing !== true);
  const providers = [...Map.groupBy(made, ({ type }) => type.split(":")[0] ?? "")].sort(
    ([, a], [, b]) => b.length - a.length,
  );
  return `${counted(made.length, "resource")}: ${providers.map(([provider, members]) => `${members.length} ${provider}`).join(", ")}`;
}

function countInWords({ count, autoscale }: Pick<Plan["pools"][number], "count" | "autoscale">): string {
  return autoscale === null ? String(count) : `${count} (${autoscale.min} to ${autoscale.max})`;
}

function findingLines({ findings }: Plan, paint: Paint): readonly string[] {
  const { open = [], accepted = [] } = Object.groupBy(findings, ({ acknowledged }) =>
    acknowledged === null ? "open" : "accepted",
  );
  const groups = groupFindings(open);
  const count = (level: Level): number => groups.filter((group) => group.level === level).length;
  return [
    open.length === 0
      ? "No findings."
      : `${counted(groups.length, "finding")}: ${levels.map((level) => counted(count(level), level)).join(", ")}`,
    ...groups.flatMap((group) => [
      paint(colours[group.level], `  ${marks[group.level]} ${group.id} at ${placesOf(group)}`),
      `      ${group.message} ${group.remedy}`,
    ]),
    ...groupFindings(accepted).map((group) => `  accepted: ${group.id} at ${placesOf(group)}: ${group.acknowledged}`),
  ];
}

/** Rows with their columns aligned; `underlined` where the first one is the head. */
export function table(rows: readonly (readonly string[])[], underlined = false): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  const lines = rows.map((cells) => line(cells).trimEnd());
  return underlined ? [...lines.slice(0, 1), line(widths.map((width) => "─".repeat(width))), ...lines.slice(1)] : lines;
}

/** The network, the API, the control plane. */
function nodeTree(plan: Plan): readonly string[] {
  const { network, controlPlane } = plan;
  const group = (title: string, children: readonly string[]): readonly string[] => [
    title,
    ...children.map((child, index) => `  ${index === children.length - 1 ? "└─" : "├─"} ${child}`),
  ];
  return [
    ...group(
      `${networkInWords(plan)}, pods ${network.podCidr}, services ${network.serviceCidr}`,
      network.zones.map(
        (zone) =>
          `${zone.zone}  private ${zone.private}  public ${zone.public ?? "none"}  control plane ${zone.controlPlane}`,
      ),
    ),
    `API  ${apiAccess(plan)}`,
    ...group(
      `control plane, ${controlPlane.size}, etcd disk ${controlPlane.etcdDiskGb} GiB`,
      controlPlane.members.map(({ size = "", ...each }) =>
        `${each.etcdName}  ${each.zone}  ${each.address}  ${size}`.trim(),
      ),
    ),
  ];
}

/** The network in words, of an existing one all ranges. */
export function networkInWords({ network }: Plan): string {
  const { existing, cidr, nat } = network;
  if (existing === undefined) return `network ${cidr}, NAT ${nat}`;
  const out = nat === "none" ? "no way to the internet" : "its own way out";
  return `existing network ${existing.cidrs.join(", ")} (${existing.id.split("/").at(-1)}), ${out}`;
}

export function apiAccess({ network }: Plan): string {
  const inside = ["private network", ...(network.privateAccess ?? [])].join(", ");
  return network.publicAccess === null
    ? `${inside} only`
    : `${inside}, and ${network.publicAccess.join(", ")} by a public load balancer`;
}
