import type { Plan } from "../../plan.ts";
import { escapeHtml } from "../markdown.ts";
import { type Comparison, changes, changingPicture, olderPlan } from "./comparison.ts";
import { section } from "./elements.ts";
import { accessTables, billedList, findingList, machine, poolTable, resourceTree, titleCard } from "./sections.ts";
import { pageStyle } from "./style.ts";

/** Needs no network. With an older plan it shows what is before and after. */
export function planHtml(plan: Plan, comparison?: Comparison): string {
  const parts = [
    ...(comparison === undefined ? [] : [{ id: "changes", title: "Before and after", content: changes(comparison) }]),
    { id: "picture", title: "Picture", content: `${changingPicture(plan, comparison)}\n${accessTables(plan)}` },
    { id: "pools", title: "Pools", content: poolTable(plan) },
    { id: "billed", title: "Billed", content: billedList(plan, comparison?.diff.billed) },
    { id: "findings", title: "Findings", content: findingList(plan) },
    {
      id: "machines",
      title: "Files",
      content: plan.machines.map(machine).join("\n"),
      lead: "What each kind of machine receives. Values that only the cloud knows are fakes of the same form and length.",
    },
    { id: "resources", title: "Resources", content: resourceTree(plan) },
  ];
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
${titleCard(plan, olderPlan(comparison))}
<nav aria-label="Sections">${parts.map(({ id, title }) => `<a href="#${id}">${title}</a>`).join("")}</nav>
</header>
<main>
${parts.map(({ id, title, content, lead }) => section(id, title, content, lead)).join("\n")}
</main>
<script>${pageScript}</script>
</body>
</html>
`;
}

/** Script of the search; the page is complete without it. */
export const pageScript = `
const search = document.getElementById("search"), hits = document.getElementById("hits");
const nodes = [...document.querySelectorAll("[data-text]")];
function apply() {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let count = 0;
  const shown = new Set();
  for (const node of nodes) {
    if (!words.every((word) => node.dataset.text.includes(word))) continue;
    count++;
    for (let at = node; at; at = at.parentElement) shown.add(at);
  }
  for (const node of nodes) {
    node.hidden = !shown.has(node);
    if (words.length > 0 && shown.has(node) && node.querySelector("[data-text]")) node.open = true;
  }
  hits.textContent = words.length === 0 ? "" : count + " of " + nodes.length + " resources and components";
}
search.addEventListener("input", apply);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
  if (event.key === "Escape" && document.activeElement === search) { search.value = ""; apply(); }
});
apply();
`;
