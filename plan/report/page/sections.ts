import { cloudFacts } from "../../../components/model/cloudFacts/cloudFacts.ts";
import { roomInWords } from "../../../components/model/room.ts";
import { type BilledChange, billedLines } from "../../billed.ts";
import { counted } from "../../counted.ts";
import { type Finding, type FindingGroup, groupFindings, type Level, levels } from "../../finding.ts";
import type { Plan, PlanMachine, PlanPool, PlanResource } from "../../plan.ts";
import { escapeHtml } from "../markdown.ts";
import { apiAccess, byAcceptance, countInWords, networkInWords, resourcesInWords } from "../summary.ts";
import { holdersInWords, reaches, shortZone, stores } from "./access.ts";
import { code, codes, folded, list, scrolling, table } from "./elements.ts";

/** The picture in words. */
export function accessTables(plan: Plan): string {
  const subnets = plan.network.zones.map((zone) => [
    escapeHtml(zone.zone),
    code(zone.private),
    zone.public === null ? "" : code(zone.public),
    code(zone.controlPlane),
  ]);
  const rules = reaches(plan).map(({ from, to, ports, purpose }) => [from, to, ports, purpose].map(escapeHtml));
  const kept = stores(plan).map(({ title, detail, readers, writers }) =>
    [title, detail, holdersInWords(plan, readers), holdersInWords(plan, writers)].map(escapeHtml),
  );
  return [
    folded(
      `Who may reach what: ${counted(rules.length, "rule")}`,
      table("Who may reach what", ["From", "To", "Ports", "Why"], rules),
    ),
    folded(
      `Who may read and write what: ${counted(kept.length, "store")}`,
      table("Who may read and write what", ["Store", "Holds", "Read by", "Written by"], kept),
    ),
    folded(
      `Addresses: ${escapeHtml(networkInWords(plan))}, pods ${escapeHtml(plan.network.podCidr)}, Services ${escapeHtml(plan.network.serviceCidr)}`,
      table("Subnets", ["Zone", "Private", "Public", "Control plane"], subnets),
    ),
    ...(plan.choices === undefined
      ? []
      : [folded(`Chosen: ${counted(plan.choices.length, "setting")}`, list(plan.choices))]),
  ].join("\n");
}

export function poolTable({ pools }: Plan): string {
  if (pools.length === 0) return "<p>None.</p>";
  return table(
    "Pools of workers",
    ["Pool", "Machines", "Size", "Zones", "Image", "Scheduling"],
    pools.map((pool) => [
      `${escapeHtml(pool.name)}<span class="detail">${escapeHtml(pool.os)}${pool.spot ? ", spot" : ""}</span>`,
      countInWords(pool),
      `${escapeHtml(pool.size)}<span class="detail">${pool.vcpus} vCPU, ${pool.memoryGib} GiB, ${pool.diskGb} GiB disk</span><span class="detail">for pods ${roomInWords(pool.room)}</span>`,
      pool.zones.map(escapeHtml).join("<br>"),
      code(pool.image),
      scheduling(pool),
    ]),
  );
}

function scheduling({ taints, labels, runtimeClass, name }: PlanPool): string {
  const texts = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return [
    ...(taints.length === 0 ? [] : [`taint ${taints.map(code).join(" ")}`]),
    ...(runtimeClass === null ? [] : [`class ${code(runtimeClass)}`]),
    folded(`${counted(texts.length, "label")}<span class="aloud"> of ${escapeHtml(name)}</span>`, codes(texts)),
  ].join("<br>");
}

export function billedList({ billed }: Plan, changes: readonly BilledChange[] = []): string {
  const rows = changes.map(({ what, before, now }) => [
    escapeHtml(what),
    String(before),
    `<b class="${now > before ? "warning" : "note"}">${now}</b>`,
  ]);
  return `${rows.length === 0 ? "" : table("What is billed in another number", ["What", "Before", "Now"], rows)}<p>At first, without traffic, snapshots, and what Services and claims create.</p>
${list(billedLines(billed))}`;
}

const headings: Readonly<Record<Level, string>> = { error: "Errors", warning: "Warnings", note: "Notes" };

/** Findings by level and kind; accepted ones last. */
export function findingList(plan: Plan): string {
  if (plan.findings.length === 0) return "<p>None.</p>";
  const { open, accepted } = byAcceptance(plan);
  return [
    ...levels.map((level) =>
      findingGroup(
        headings[level],
        level,
        open.filter((finding) => finding.level === level),
      ),
    ),
    findingGroup("Accepted", "note", accepted),
  ].join("\n");
}

function findingGroup(heading: string, level: Level, findings: readonly Finding[]): string {
  if (findings.length === 0) return "";
  const groups = groupFindings(findings);
  const kinds = Map.groupBy(groups, ({ id }) => id);
  const cards = [...kinds].map(
    ([id, groups]) => `<li class="${level}"><h4>${escapeHtml(id)}</h4>\n${groups.map(statement).join("\n")}</li>`,
  );
  return `<h3 class="${level}">${heading} <span class="count">${groups.length}</span></h3>\n<ul class="findings">${cards.join("\n")}</ul>`;
}

function statement({ message, remedy, paths, acknowledged }: FindingGroup): string {
  const what = acknowledged === null ? escapeHtml(remedy) : `Accepted: ${escapeHtml(acknowledged)}`;
  return `<p class="what">${escapeHtml(message)} <span class="remedy">${what}</span></p>
<p class="places">${paths.map(code).join(" ")}</p>`;
}

export function machine({ name, count, userData, files, entry, image }: PlanMachine): string {
  const used = Math.round((1000 * userData.bytes) / userData.limit) / 10;
  const content = `<p>Image ${code(image)}. User data: ${userData.bytes} of ${userData.limit} bytes, ${used} %.</p>
${files
  .map((file) =>
    folded(
      `${code(file.path)} <span class="detail">${file.mode ?? ""} ${file.bytes} bytes${file.path === entry ? ", started" : ""}</span>`,
      scrolling(escapeHtml(file.content)),
    ),
  )
  .join("\n")}`;
  return folded(
    `${escapeHtml(name)} <span class="detail">${count === 1 ? "" : `${count} machines, `}${counted(files.length, "file")}, user data ${used} % of its limit</span><span class="gauge" aria-hidden="true"><span style="width:${Math.min(100, used)}%"></span></span>`,
    content,
    ' class="machine"',
  );
}

/** Nested details elements, which open by keyboard. */
export function resourceTree(plan: Plan): string {
  const { resources } = plan;
  const urns = new Set(resources.map(({ urn }) => urn));
  const children = Map.groupBy(resources, ({ parent }) => (parent !== null && urns.has(parent) ? parent : ""));
  const branch = (parent: string): string => (children.get(parent) ?? []).map(node).join("\n");
  const node = (resource: PlanResource): string =>
    folded(
      `${escapeHtml(resource.name)} <span class="type">${escapeHtml(resource.type)}</span>`,
      `${properties(resource)}${branch(resource.urn)}`,
      ` data-text="${escapeHtml(`${resource.type} ${resource.name}`.toLowerCase())}"${resource.parent === null ? " open" : ""}`,
    );
  return `<p>${escapeHtml(resourcesInWords(plan))}. The components that group them are shown too.</p>
<p class="search"><label for="search">Search by type and name (press /)</label><br><input id="search" type="search" autocomplete="off"> <span id="hits" role="status"></span></p>
${branch("")}`;
}

function properties({ inputs, options, dependencies }: PlanResource): string {
  const shown = {
    ...(isEmpty(inputs) ? {} : { inputs }),
    ...(isEmpty(options) ? {} : { options }),
    ...(dependencies.length === 0 ? {} : { dependsOn: dependencies.map((urn) => urn.split("::").slice(2).join(" ")) }),
  };
  return isEmpty(shown) ? "" : scrolling(escapeHtml(JSON.stringify(shown, null, 2)));
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

interface Figure {
  readonly name: string;
  readonly value: string;
  readonly detail: string;
  readonly kind?: "error" | "warning";
}

export function figures(plan: Plan): readonly Figure[] {
  const { controlPlane, pools, network } = plan;
  const members = controlPlane.members.length;
  const total = (each: (pool: Plan["pools"][number]) => number): number =>
    pools.reduce((sum, pool) => sum + each(pool), 0);
  const windows = total(({ build, count }) => (build === null ? 0 : count));
  const workers = total(({ count }) => count);
  const most = total(({ count, autoscale }) => Math.max(count, autoscale?.max ?? 0));
  const open = groupFindings(byAcceptance(plan).open);
  const [errors, warnings, notes] = levels.map((level) => open.filter((finding) => finding.level === level).length);
  return [
    {
      name: "Machines",
      value: String(members + workers),
      detail: `${members} control plane, ${workers - windows} Linux, ${windows} Windows${most > workers ? `; up to ${members + most}` : ""}`,
    },
    {
      name: "vCPUs",
      value: String(members * controlPlane.vcpus + total(({ vcpus, count }) => vcpus * count)),
      detail: `${total(({ vcpus, count }) => vcpus * count)} of them in pools`,
    },
    {
      name: "Memory",
      value: `${members * controlPlane.memoryGib + total(({ memoryGib, count }) => memoryGib * count)} GiB`,
      detail: `${total(({ memoryGib, count }) => memoryGib * count)} GiB of it in pools`,
    },
    {
      name: "Zones",
      value: String(network.zones.length),
      detail: `${network.zones.map(({ zone }) => shortZone(plan, zone)).join(", ")} of ${plan.cluster.region}`,
    },
    {
      name: "Errors / warnings",
      value: `${errors} / ${warnings}`,
      detail: `and ${counted(notes ?? 0, "note")}`,
      ...(errors !== 0 ? { kind: "error" } : warnings !== 0 ? { kind: "warning" } : {}),
    },
  ];
}

/** The title with the plan's figures, and an older plan's beside them. */
export function titleCard(plan: Plan, before: Plan | undefined): string {
  const { cluster } = plan;
  const older = new Map(before === undefined ? [] : figures(before).map(({ name, value }) => [name, value]));
  const tiles = figures(plan).map(({ name, value, detail, kind }) => {
    const was = older.get(name);
    const changed = was === undefined || was === value ? "" : `<span class="was">before: ${escapeHtml(was)}</span>`;
    return `<div class="tile${kind === undefined ? "" : ` ${kind}`}"><dt>${name}</dt><dd><b class="figure">${escapeHtml(value)}</b>${changed}<span class="detail">${escapeHtml(detail)}</span></dd></div>`;
  });
  return `<p class="kicker">Fenestra plan</p>
<h1>${escapeHtml(plan.stack)}</h1>
<p class="subtitle">Kubernetes ${escapeHtml(cluster.kubernetes)} on ${cloudFacts[cluster.cloud].words.title}, ${escapeHtml(cluster.region)}, ${escapeHtml(cluster.environment)}. API: ${escapeHtml(apiAccess(plan))}.</p>
<dl class="tiles">
${tiles.join("\n")}
</dl>`;
}
