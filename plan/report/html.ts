import { amountInWords, costInWords, costNote } from "../cost/text.ts";
import { groupFindings } from "./finding.ts";
import { highlight } from "./highlight.ts";
import { escapeHtml } from "./markdown.ts";
import { pageScript, pageStyle } from "./page.ts";
import type { Plan, PlanMachine, PlanResource } from "./plan.ts";
import { criticalPaths } from "./summary.ts";
import { topologySvg } from "./svg.ts";
import { apiAccess } from "./tree.ts";

/** The plan as one page that needs no network: topology, findings, machines with their files, a searchable tree of the resources. */
export function planHtml(plan: Plan): string {
  const { cluster } = plan;
  const ready = toReady(plan);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>Plan of ${escapeHtml(plan.stack)}</title>
<style>${pageStyle}</style>
</head>
<body>
<header>
<h1>Plan of ${escapeHtml(plan.stack)}</h1>
<p>Kubernetes ${escapeHtml(cluster.kubernetes)} on ${cluster.cloud}, ${escapeHtml(cluster.region)}, ${escapeHtml(cluster.environment)}. API: ${escapeHtml(apiAccess(plan))}.</p>
<p>Made without a cloud: values that only the cloud can tell are stand-ins of the same form and length.</p>
<nav><a href="#findings">Findings</a><a href="#topology">Topology</a><a href="#pools">Pools</a><a href="#cost">Cost</a>${ready === "" ? "" : '<a href="#ready">To Ready</a>'}<a href="#machines">Machines</a><a href="#resources">Resources</a></nav>
</header>
<main>
<section id="findings"><h2>Findings</h2>${findings(plan)}</section>
<section id="topology"><h2>Topology</h2>${scrollable("Topology", topologySvg(plan))}</section>
<section id="pools"><h2>Pools</h2>${pools(plan)}</section>
<section id="cost"><h2>Cost</h2>${cost(plan)}</section>
${ready}<section id="machines"><h2>Machines</h2>${plan.machines.map(machine).join("\n")}</section>
<section id="resources"><h2>Resources</h2>
<p><label for="search">Search by type and name (press /)</label><br><input id="search" type="search" autocomplete="off"> <span id="hits" role="status"></span></p>
${tree(plan.resources)}</section>
</main>
<script>${pageScript}</script>
</body>
</html>
`;
}

function findings({ findings: all }: Plan): string {
  if (all.length === 0) return "<p>None.</p>";
  return table(
    "Findings",
    ["Level", "Finding", "Where", "What and how to fix it"],
    groupFindings(all).map(({ level, id, paths, message, remedy, acknowledged }) => [
      acknowledged === null ? `<strong class="${level}">${level}</strong>` : `accepted ${level}`,
      code(id),
      paths.map(code).join("<br>"),
      `${escapeHtml(message)} ${escapeHtml(acknowledged === null ? remedy : `Accepted: ${acknowledged}`)}`,
    ]),
  );
}

function pools(plan: Plan): string {
  return table(
    "Pools",
    ["Pool", "System", "Size", "Machines", "Zones", "Image", "Taints", "Labels"],
    plan.pools.map((pool) => [
      escapeHtml(pool.name),
      escapeHtml(pool.os),
      `${escapeHtml(pool.size)} (${pool.vcpus} vCPU, ${pool.memoryGib} GiB)`,
      pool.autoscale === null ? String(pool.count) : `${pool.count} (${pool.autoscale.min} to ${pool.autoscale.max})`,
      escapeHtml(pool.zones.join(", ")),
      code(pool.image),
      pool.taints.map(code).join("<br>"),
      Object.entries(pool.labels)
        .map(([key, value]) => code(`${key}=${value}`))
        .join("<br>"),
    ]),
  );
}

function cost({ cost: estimate }: Plan): string {
  const lines = estimate.lines.map(({ what, month }) => [escapeHtml(what), amountInWords(month)]);
  return `<p><strong>${escapeHtml(costInWords(estimate))}</strong>. ${escapeHtml(costNote(estimate))}</p>${lines.length === 0 ? "" : table("Cost", ["What", "USD a month"], lines)}`;
}

function toReady(plan: Plan): string {
  const lines = criticalPaths(plan).filter((line) => line !== "");
  return lines.length === 0
    ? ""
    : `<section id="ready"><h2>To Ready</h2><pre class="prose" tabindex="0">${escapeHtml(lines.join("\n"))}</pre></section>\n`;
}

function machine({ name, count, userData, files, entry, image }: PlanMachine): string {
  return `<details><summary>${escapeHtml(name)}${count === 1 ? "" : ` (${count})`}: ${userData.bytes} of ${userData.limit} bytes of user data, ${files.length} files</summary>
<p>Image ${code(image)}</p>
${files
  .map(
    (
      file,
    ) => `<details><summary>${code(file.path)} ${file.mode ?? ""} ${file.bytes} bytes${file.path === entry ? ", started" : ""}</summary>
<pre tabindex="0">${highlight(file.path, file.content)}</pre></details>`,
  )
  .join("\n")}
</details>`;
}

/** The resources as nested details elements: every browser opens and closes them by keyboard. */
function tree(resources: readonly PlanResource[]): string {
  const urns = new Set(resources.map(({ urn }) => urn));
  const children = Map.groupBy(resources, ({ parent }) => (parent !== null && urns.has(parent) ? parent : ""));
  const branch = (parent: string): string => (children.get(parent) ?? []).map(node).join("\n");
  const node = (resource: PlanResource): string =>
    `<details data-text="${escapeHtml(`${resource.type} ${resource.name}`.toLowerCase())}"${resource.parent === null ? " open" : ""}><summary>${escapeHtml(resource.name)} <span class="type">${escapeHtml(resource.type)}</span></summary>
${properties(resource)}${branch(resource.urn)}</details>`;
  return branch("");
}

function properties({ inputs, options, dependencies }: PlanResource): string {
  const shown = {
    ...(isEmpty(inputs) ? {} : { inputs }),
    ...(isEmpty(options) ? {} : { options }),
    ...(dependencies.length === 0 ? {} : { dependsOn: dependencies.map((urn) => urn.split("::").slice(2).join(" ")) }),
  };
  return isEmpty(shown) ? "" : `<pre tabindex="0">${highlight("x.json", JSON.stringify(shown, null, 2))}</pre>`;
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function table(label: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
  return scrollable(
    label,
    `<table><thead>${row(head, "th")}</thead><tbody>${rows.map((cells) => row(cells, "td")).join("")}</tbody></table>`,
  );
}

/** What may be wider than the window, in a box that scrolls by itself, by keyboard too, so that the page never gets wider. */
function scrollable(label: string, content: string): string {
  return `<div class="scroll" tabindex="0" role="region" aria-label="${label}">${content}</div>`;
}

function code(text: string): string {
  return text === "" ? "" : `<code>${escapeHtml(text)}</code>`;
}
