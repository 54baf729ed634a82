import { ports } from "../../components/model/ports.ts";
import { roomInWords } from "../../components/model/room.ts";
import { billedLines } from "../billed.ts";
import { groupFindings } from "../finding.ts";
import type { Plan, PlanMachine } from "../plan.ts";
import { apiAccess, countInWords, madeResources, resourcesInWords, usedPercent } from "./summary.ts";

/** The plan for a pull request: GitHub renders the tables and the Mermaid picture. */
export function planMarkdown(plan: Plan): string {
  const { cluster } = plan;
  return [
    `# Plan of ${plan.stack}`,
    "",
    `Kubernetes ${cluster.kubernetes} on ${cluster.cloud}, ${cluster.region}, ${cluster.environment}. API: ${apiAccess(plan)}.`,
    "",
    "Made without a cloud: values that only the cloud knows are fakes of the same form and length.",
    "",
    "## Findings",
    "",
    ...findingTable(plan),
    "",
    "## Topology",
    "",
    "```mermaid",
    ...mermaid(plan),
    "```",
    "",
    "## Pools",
    "",
    ...table(
      ["Pool", "System", "Size", "Machines", "Zones", "Image", "Disk", "A node has for pods", "Taints", "RuntimeClass"],
      plan.pools.map((pool) => [
        pool.name,
        pool.os,
        `${pool.size} (${pool.vcpus} vCPU, ${pool.memoryGib} GiB)`,
        countInWords(pool),
        pool.zones.join(", "),
        code(pool.image),
        `${pool.diskGb} GiB`,
        roomInWords(pool.room),
        pool.taints.map(code).join(" "),
        pool.runtimeClass === null ? "" : code(pool.runtimeClass),
      ]),
    ),
    "",
    ...(plan.choices === undefined ? [] : ["## Chosen", "", ...plan.choices.map((line) => `- ${code(line)}`), ""]),
    "## Billed by time",
    "",
    ...billedLines(plan.billed).map((line) => `- ${line}`),
    "",
    "## Machines",
    "",
    ...table(
      ["Machine", "Machines", "Image", "Files", "User data", "Limit"],
      plan.machines.map((machine) => [
        machine.name,
        String(machine.count),
        code(machine.image),
        String(machine.files.length),
        `${machine.userData.bytes} bytes (${usedPercent(machine.userData)})`,
        `${machine.userData.limit} bytes`,
      ]),
    ),
    "",
    ...plan.machines.flatMap(fileList),
    "## Resources",
    "",
    ...resourceTable(plan),
    "",
  ].join("\n");
}

function findingTable({ findings }: Plan): readonly string[] {
  if (findings.length === 0) return ["None."];
  return table(
    ["Level", "Finding", "Where", "What", "How to fix it"],
    groupFindings(findings).map(({ level, id, paths, message, remedy, acknowledged }) => [
      acknowledged === null ? level : `accepted ${level}`,
      code(id),
      paths.map(code).join(" "),
      message,
      acknowledged === null ? remedy : `Accepted: ${acknowledged}`,
    ]),
  );
}

export function mermaid(plan: Plan): readonly string[] {
  const zones = plan.network.zones.map(({ zone }, index) => ({ zone, id: `zone${index}` }));
  return [
    "flowchart LR",
    `  nodeApi([internal load balancer :${ports.api}])`,
    ...(plan.network.publicAccess === null
      ? []
      : [
          `  internet((${quoted(plan.network.publicAccess.join(", "))})) --> publicApi([public load balancer :${ports.api}])`,
        ]),
    ...zones.flatMap(({ zone, id }) => [
      `  subgraph ${id}[${quoted(zone)}]`,
      ...plan.controlPlane.members
        .filter((member) => member.zone === zone)
        .map(({ etcdName, address }) => `    ${identifier(etcdName)}[${quoted(`${etcdName} ${address}`)}]`),
      "  end",
    ]),
    ...plan.controlPlane.members.flatMap(({ etcdName }) => [
      `  nodeApi --> ${identifier(etcdName)}`,
      ...(plan.network.publicAccess === null ? [] : [`  publicApi --> ${identifier(etcdName)}`]),
    ]),
    ...plan.pools.map(
      ({ name, os, count, size }) =>
        `  pool_${identifier(name)}[[${quoted(`${name}: ${count} x ${size}, ${os}`)}]] --> nodeApi`,
    ),
  ];
}

function identifier(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, "_");
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', "#quot;")}"`;
}

function fileList({ name, files, entry }: PlanMachine): readonly string[] {
  return [
    `<details><summary>Files of ${escapeHtml(name)}</summary>`,
    "",
    ...table(
      ["File", "Mode", "Bytes", "SHA-256"],
      files.map((file) => [
        file.path === entry ? `${code(file.path)} (started)` : code(file.path),
        file.mode ?? "",
        String(file.bytes),
        code(file.sha256.slice(0, 16)),
      ]),
    ),
    "",
    "</details>",
    "",
  ];
}

function resourceTable(plan: Plan): readonly string[] {
  const custom = madeResources(plan);
  const types = [...Map.groupBy(custom, ({ type }) => type)].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    `${resourcesInWords(plan)}.`,
    "",
    ...table(
      ["Type", "Number", "Names"],
      types.map(([type, members]) => [
        code(type),
        String(members.length),
        members.map(({ name }) => code(name)).join(", "),
      ]),
    ),
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)];
}

function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
