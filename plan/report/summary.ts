import { billedLines } from "../billed.ts";
import { counted } from "../counted.ts";
import { groupFindings, type Level, levels, placesOf } from "../finding.ts";
import type { Plan } from "../plan.ts";

const marks = { error: "✗", warning: "!", note: "·" } as const;

/** The plan as the terminal shows it: short enough to read in one go. */
export function planSummary(plan: Plan): string {
  return [
    heading(plan),
    "",
    ...topology(plan),
    "",
    ...poolTable(plan),
    "",
    ...machineTable(plan),
    "",
    ...resourceCounts(plan),
    "Billed by time:",
    ...billedLines(plan.billed).map((line) => `  ${line}`),
    ...(plan.messages.length === 0 ? [] : ["", ...plan.messages.map(({ severity, text }) => `${severity}: ${text}`)]),
    "",
    ...findingLines(plan),
    "",
  ].join("\n");
}

function heading({ cluster, stack }: Plan): string {
  return `${stack}: Kubernetes ${cluster.kubernetes} on ${cluster.cloud}, ${cluster.region}, ${cluster.environment}`;
}

function topology(plan: Plan): readonly string[] {
  return nodeTree(plan).flatMap(({ title, children }) => [
    title,
    ...children.map((child, index) => `  ${index === children.length - 1 ? "└─" : "├─"} ${child}`),
  ]);
}

function poolTable({ pools }: Plan): readonly string[] {
  return table(
    ["Pool", "System", "Size", "Count", "Zones", "Taints", "RuntimeClass"],
    pools.map((pool) => [
      pool.name,
      pool.os,
      pool.size,
      pool.autoscale === null ? String(pool.count) : `${pool.count} (${pool.autoscale.min}-${pool.autoscale.max})`,
      pool.zones.join(" "),
      pool.taints.join(" ") || "-",
      pool.runtimeClass ?? "-",
    ]),
  );
}

function machineTable({ machines }: Plan): readonly string[] {
  return table(
    ["Machine", "Files", "User data", "Limit", "Used"],
    machines.map(({ name, count, files, userData }) => [
      count === 1 ? name : `${name} (${count})`,
      String(files.length),
      `${userData.bytes} B`,
      `${userData.limit} B`,
      `${((100 * userData.bytes) / userData.limit).toFixed(1)} %`,
    ]),
  );
}

/** Resources that the program makes: neither components nor what exists already. */
export function madeResources({ resources }: Plan): Plan["resources"] {
  return resources.filter(({ custom, existing }) => custom && existing !== true);
}

/** How many resources each provider makes. */
export function countByProvider(plan: Plan): readonly (readonly [provider: string, count: number])[] {
  const groups = Map.groupBy(madeResources(plan), ({ type }) => type.split(":")[0] ?? "");
  return [...groups].map(([provider, members]) => [provider, members.length] as const).sort((a, b) => b[1] - a[1]);
}

function resourceCounts(plan: Plan): readonly string[] {
  const counts = countByProvider(plan);
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const read = plan.resources.filter(({ existing }) => existing === true).length;
  const existing = read === 0 ? "" : `; ${counted(read, "existing resource")} read`;
  return [`${counted(total, "resource")}: ${counts.map(([provider, count]) => `${count} ${provider}`).join(", ")}${existing}`];
}

function findingLines({ findings }: Plan): readonly string[] {
  const open = findings.filter(({ acknowledged }) => acknowledged === null);
  const accepted = findings.filter(({ acknowledged }) => acknowledged !== null);
  const count = (level: Level): number => open.filter((finding) => finding.level === level).length;
  return [
    open.length === 0
      ? "No findings."
      : `${counted(open.length, "finding")}: ${levels.map((level) => counted(count(level), level)).join(", ")}`,
    ...groupFindings(open).flatMap((group) => [
      `  ${marks[group.level]} ${group.id} at ${placesOf(group)}`,
      `      ${group.message} ${group.remedy}`,
    ]),
    ...groupFindings(accepted).map((group) => `  accepted: ${group.id} at ${placesOf(group)}: ${group.acknowledged}`),
  ];
}

/** A table in plain text; columns as wide as they must be. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [line(head), line(widths.map((width) => "─".repeat(width))), ...rows.map(line)];
}

interface TopologyGroup {
  readonly title: string;
  readonly children: readonly string[];
}

/** The topology as groups of lines: the network, the API, the control plane, the choices. */
function nodeTree(plan: Plan): readonly TopologyGroup[] {
  const { network, controlPlane, choices = [] } = plan;
  return [
    {
      title: `${networkInWords(plan)}, pods ${network.podCidr}, services ${network.serviceCidr}`,
      children: network.zones.map(
        (zone) => `${zone.zone}  private ${zone.private}  public ${zone.public ?? "none"}  control plane ${zone.controlPlane}`,
      ),
    },
    { title: `API  ${apiAccess(plan)}`, children: [] },
    {
      title: `control plane, ${controlPlane.size}, etcd disk ${controlPlane.etcdDiskGb} GiB`,
      children: controlPlane.members.map(({ etcdName, zone, address }) => `${etcdName}  ${zone}  ${address}`),
    },
    ...(choices.length === 0 ? [] : [{ title: "chosen", children: choices }]),
  ];
}

/** The network in words; of an existing one all ranges, and that it is not created. */
export function networkInWords({ network }: Plan): string {
  const { existing, cidr, nat } = network;
  if (existing === undefined) return `network ${cidr}, NAT ${nat}`;
  const out = nat === "none" ? "no way to the internet" : "its own way out";
  return `existing network ${existing.cidrs.join(", ")} (${existing.id.split("/").at(-1)}), ${out}`;
}

/** Who reaches the API, in words. */
export function apiAccess({ network }: Plan): string {
  const inside = ["private network", ...(network.privateAccess ?? [])].join(", ");
  return network.publicAccess === null ? `${inside} only` : `${inside}, and ${network.publicAccess.join(", ")} by a public load balancer`;
}
