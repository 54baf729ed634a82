import { ports } from "../../components/model/ports.ts";
import { counted } from "../billed.ts";
import type { PlanDiff } from "../diff/compare.ts";
import { diffText } from "../diff/text.ts";
import { groupFindings } from "../finding.ts";
import type { Plan, PlanMachine } from "../plan.ts";
import { holdersInWords, reaches, stores } from "./access.ts";
import { apiAccess, networkInWords, overview } from "./summary.ts";

/** The plan for a pull request: GitHub renders the tables and the Mermaid picture. With a difference it says that too. */
export function planMarkdown(plan: Plan, diff?: PlanDiff): string {
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
    ...(diff === undefined ? [] : ["## Before and after", "", `${fence}diff`, diffText(diff).trimEnd(), fence, ""]),
    "## Topology",
    "",
    "```mermaid",
    ...mermaid(plan),
    "```",
    "",
    ...accessTables(plan),
    "## In short",
    "",
    `${fence}text`,
    ...overview(plan),
    fence,
    "",
    ...plan.machines.flatMap(fileList),
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
      linked(message),
      acknowledged === null ? remedy : `Accepted: ${acknowledged}`,
    ]),
  );
}

/** An address in brackets, as a link by its last part: that of an advisory is its name. */
function linked(text: string): string {
  return text.replaceAll(/\((https:\/\/[^\s()]+\/([^\s()/]+))\)/g, "([$2]($1))");
}

/** The picture in words: who reaches what by which port, whose identity is let at what, subnets. */
function accessTables(plan: Plan): readonly string[] {
  const rules = reaches(plan).map(({ from, to, ports, purpose }) => [from, to, ports, purpose].map(escapeHtml));
  const kept = stores(plan).map(({ title, detail, readers, writers }) =>
    [title, detail, holdersInWords(plan, readers), holdersInWords(plan, writers)].map(escapeHtml),
  );
  const subnets = plan.network.zones.map((zone) =>
    [zone.zone, zone.private, zone.public ?? "", zone.controlPlane].map(code),
  );
  return [
    ...folded(`Who may reach what: ${counted(rules.length, "rule")}`, ["From", "To", "Ports", "Why"], rules),
    ...folded(
      `Who may read and write what: ${counted(kept.length, "store")}`,
      ["Store", "Holds", "Read by", "Written by"],
      kept,
    ),
    ...folded(
      `Addresses: ${networkInWords(plan)}, pods ${plan.network.podCidr}, Services ${plan.network.serviceCidr}`,
      ["Zone", "Private", "Public", "Control plane"],
      subnets,
    ),
  ];
}

/** Longer than what a file's lines may have of it. */
const fence = "~~~~~~~~";

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
        .map(
          ({ etcdName, address, size = plan.controlPlane.size }) =>
            `    ${identifier(etcdName)}[${quoted(`${etcdName} ${address}, ${size}`)}]`,
        ),
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
  return folded(
    `Files of ${name}`,
    ["File", "Mode", "Bytes", "SHA-256"],
    files.map((file) => [
      file.path === entry ? `${code(file.path)} (started)` : code(file.path),
      file.mode ?? "",
      String(file.bytes),
      code(file.sha256.slice(0, 16)),
    ]),
  );
}

function folded(title: string, head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return [`<details><summary>${escapeHtml(title)}</summary>`, "", ...table(head, rows), "", "</details>", ""];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)];
}

function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

export interface OutputFile {
  /** Path inside the folder, with `/`. */
  readonly path: string;
  readonly content: string;
}

/** The plan's two forms, and each machine's files. With a difference the Markdown says what changes. */
export function planFiles(plan: Plan, diff?: PlanDiff): readonly OutputFile[] {
  return [
    { path: "plan.md", content: planMarkdown(plan, diff) },
    { path: "plan.json", content: planJson(plan) },
    ...plan.machines.flatMap(({ name, files }) =>
      files.map(({ path, content }) => ({ path: `machines/${name}/${relativePath(path)}`, content })),
    ),
  ];
}

/** A machine's path inside a folder: `/etc/a` to `etc/a`, `C:\\a\\b` to `C/a/b`. No part leads out of it. */
export function relativePath(path: string): string {
  return path
    .replace(/^([A-Za-z]):/, "$1")
    .split(/[\\/]+/)
    .filter((part) => part !== "" && part !== "." && part !== "..")
    .join("/");
}

/** The same plan gives the same bytes. */
export function planJson(plan: Plan): string {
  return `${JSON.stringify(plan, null, 2)}\n`;
}
