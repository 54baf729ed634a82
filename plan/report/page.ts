/** Style of the plan's page: readable in dark and light, as the reader's system is set. */
export const pageStyle = `
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #f3f5f7; --line: #d0d7de; --accent: #0550ae;
  --error: #b42318; --warning: #8a5a00; --note: #57606a; --comment: #57606a; --string: #0a3069; --keyword: #8250df; --number: #953800; --key: #116329; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --soft: #161b22; --line: #30363d; --accent: #79c0ff;
  --error: #ff9a92; --warning: #e3b341; --note: #9ea7b3; --comment: #9ea7b3; --string: #a5d6ff; --keyword: #d2a8ff; --number: #ffa657; --key: #7ee787; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
pre { overflow: auto; padding: .7rem; background: var(--soft); border: 1px solid var(--line); border-radius: 6px; max-height: 40rem; }
pre.prose { white-space: pre-wrap; } summary, p, h1 { overflow-wrap: anywhere; }
code, pre { font: 13px/1.45 ui-monospace, monospace; } summary { cursor: pointer; padding: .15rem 0; }
details details { margin-left: 1.2rem; } nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; } a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
input { font: inherit; width: 100%; max-width: 30rem; padding: .35rem .6rem; color: inherit; background: var(--soft); border: 1px solid var(--line); border-radius: 6px; }
.scroll { overflow-x: auto; } #findings td:nth-child(2), #findings td:nth-child(3) { width: 15rem; overflow-wrap: anywhere; } #findings td:nth-child(2) { white-space: nowrap; } .type { color: var(--note); } .error { color: var(--error); } .warning { color: var(--warning); } .note { color: var(--note); }
.comment { color: var(--comment); } .string { color: var(--string); } .keyword { color: var(--keyword); } .number { color: var(--number); } .key { color: var(--key); }
svg { display: block; margin: auto; } svg rect { fill: var(--soft); stroke: var(--line); } svg .control { stroke: var(--accent); } svg .windows { stroke: var(--keyword); }
svg .linux { stroke: var(--key); } svg .line { stroke: var(--line); } svg text { fill: var(--ink); font: 13px system-ui, sans-serif; } svg .detail { fill: var(--note); }
@media (max-width: 48rem) { #findings thead { display: none; } #findings tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  #findings td:nth-child(n) { display: block; width: auto; padding: .1rem 0; border: 0; white-space: normal; } }
`;

/** Script of the page: the search. The page is complete without it. */
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
  hits.textContent = words.length === 0 ? nodes.length + " resources" : count + " of " + nodes.length + " resources";
}
search.addEventListener("input", apply);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
  if (event.key === "Escape" && document.activeElement === search) { search.value = ""; apply(); }
});
apply();
`;
