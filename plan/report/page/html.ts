import type { Plan } from "../../plan.ts";
import { escapeHtml } from "../markdown.ts";
import { type Comparison, changes, marksOf, olderPlan } from "./comparison.ts";
import { section } from "./elements.ts";
import { picture } from "./picture.ts";
import { pageScript } from "./script.ts";
import { accessTables, billedList, findingList, machine, poolTable, resourceTree, titleCard } from "./sections.ts";
import { pageStyle } from "./style.ts";

/** The plan as one page that needs no network. With an older plan it shows what is before and after. */
export function planHtml(plan: Plan, comparison?: Comparison): string {
  const parts = [
    ...(comparison === undefined ? [] : [{ id: "changes", title: "Before and after", content: changes(comparison) }]),
    { id: "picture", title: "Picture", content: `${picture(plan, marksOf(plan, comparison))}\n${accessTables(plan)}` },
    { id: "pools", title: "Pools", content: poolTable(plan) },
    { id: "billed", title: "Billed", content: billedList(plan) },
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
