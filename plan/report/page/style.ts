export const pageStyle = `
:root { color-scheme: light dark;
  --ink: #1a2230; --quiet: #545f70; --paper: #fbfbfc; --card: #ffffff; --soft: #f1f3f6; --line: #d9dee6; --accent: #0b57b0;
  --error: #b3261e; --error-soft: #fdeeec; --warning: #855300; --warning-soft: #fdf4e1;
  --control: #0b57b0; --control-soft: #e9f1fc; --linux: #1c6e42; --linux-soft: #e8f5ed; --windows: #6b3fa0; --windows-soft: #f3edfb; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e5eaf1; --quiet: #a3aebd; --paper: #0f141b; --card: #161d26; --soft: #1d2630; --line: #303b49; --accent: #8abeff;
  --error: #ffa198; --error-soft: #33191a; --warning: #e8b95a; --warning-soft: #2e2412;
  --control: #8abeff; --control-soft: #14263d; --linux: #7fd6a3; --linux-soft: #142b20; --windows: #c9a8f5; --windows-soft: #261c38; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; color: var(--ink); background: var(--paper); }
header, main { max-width: 73rem; margin: 0 auto; padding: 0 1.5rem; }
header { padding-top: 2.5rem; }
h1, h2, h3, p, dl, dd, ul, ol { margin: 0; }
h1 { font-size: 2.5rem; line-height: 1.15; letter-spacing: -.02em; }
h2 { font-size: 1.5rem; line-height: 1.25; letter-spacing: -.01em; margin-bottom: .25rem; }
h3 { font-size: 1rem; line-height: 1.4; }
h1, h2, h3, p, li, summary, dd, td, th { overflow-wrap: anywhere; }
a { color: var(--accent); }
code, pre { font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; }
section { padding: 2.5rem 0; border-top: 1px solid var(--line); }
section > * + * { margin-top: 1rem; }
.kicker { font-size: .8125rem; font-weight: 600; letter-spacing: .08em; text-transform: uppercase; color: var(--quiet); }
.subtitle, .lead { color: var(--quiet); max-width: 48rem; }
.subtitle { margin-top: .5rem; font-size: 1.0625rem; } .lead { margin-top: 0; }
.detail { display: block; color: var(--quiet); font-size: .8125rem; font-weight: 400; line-height: 1.4; }
.aloud { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.error { color: var(--error); } .warning { color: var(--warning); } .note { color: var(--ink); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.tiles { display: grid; grid-template-columns: repeat(5, 1fr); gap: .75rem; margin-top: 1.75rem; }
.tile { padding: .875rem 1rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 10px; color: var(--ink); }
.tile dt { font-size: .8125rem; color: var(--quiet); } .tile .figure { display: block; font-size: 1.5rem; line-height: 1.35; font-variant-numeric: tabular-nums; }
.tile .figure { font-weight: 650; white-space: nowrap; } .tile .was { display: block; margin-bottom: .25rem; font-size: .875rem; font-weight: 600; }
.tile.error { background: var(--error-soft); border-color: var(--error); } .tile.error b { color: var(--error); }
.tile.warning { background: var(--warning-soft); border-color: var(--warning); } .tile.warning b { color: var(--warning); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 1.5rem 0; } nav a { padding: .25rem 0; font-weight: 550; }
table { width: 100%; border-collapse: collapse; font-size: .9375rem; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th, td { padding: .625rem .75rem .625rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { padding-top: 0; font-size: .8125rem; color: var(--quiet); } tbody th { font-weight: 600; }
summary { cursor: pointer; padding: .375rem 0; } summary .detail { display: inline; } details > :not(summary) { margin-top: .5rem; }
section > details { border: 1px solid var(--line); border-radius: 8px; background: var(--card); padding: .25rem 1rem; } section > details + details { margin-top: .5rem; }
details details { margin-left: 1rem; } td details { margin-left: 0; } td summary { padding: 0; }
pre { margin: .25rem 0 .75rem; padding: .75rem 1rem; overflow: auto; max-height: 40rem; background: var(--soft); border: 1px solid var(--line); border-radius: 8px; }
.type { color: var(--quiet); font-size: .8125rem; }
.callout { padding: 1rem 1.25rem; background: var(--error-soft); border: 1px solid var(--error); border-radius: 8px; } .callout ul { padding-left: 1.25rem; } .callout li { white-space: pre-line; } .callout li + li { margin-top: .5rem; }
.findings { list-style: none; padding: 0; display: grid; gap: .75rem; }
.findings li { padding: .875rem 1.125rem; background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--line); border-radius: 8px; color: var(--ink); }
.findings li.error { border-left-color: var(--error); } .findings li.warning { border-left-color: var(--warning); }
.findings h4 { margin: 0; font: 600 .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; } .remedy { color: var(--quiet); } .findings h4 ~ p + p.what { margin-top: .875rem; } .places { display: flex; flex-wrap: wrap; gap: .25rem .5rem; margin-top: .375rem; }
.places code { padding: 0 .4rem; background: var(--soft); border-radius: 4px; } .count { margin-left: .25rem; font-weight: 400; color: var(--quiet); }
.gauge { display: block; height: 4px; margin-top: .25rem; max-width: 18rem; border-radius: 2px; background: var(--line); } .gauge span { display: block; height: 100%; border-radius: 2px; background: var(--accent); }
input { display: block; font: inherit; width: 100%; max-width: 30rem; padding: .5rem .75rem; color: inherit; background: var(--card); border: 1px solid var(--quiet); border-radius: 8px; }
.picture { display: grid; grid-template-columns: 3fr 1fr; gap: 1rem; } .picture > div, .network, .zone { display: flex; flex-direction: column; gap: .75rem; }
.network, .zone, .box { padding: .75rem; border: 1px solid var(--line); border-radius: 8px; } .network { background: var(--card); } .zone { background: var(--soft); }
.row { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: .75rem; } .box { background: var(--card); } .balancer { background: var(--soft); }
.control { background: var(--control-soft); border-color: var(--control); } .pool.linux { background: var(--linux-soft); border-color: var(--linux); }
.pool.windows { background: var(--windows-soft); border-color: var(--windows); } .marked { border: 2px solid var(--warning); } .badge { color: var(--warning); font-weight: 600; }
@media (max-width: 62rem) { .tiles { grid-template-columns: repeat(3, 1fr); } .picture { grid-template-columns: 1fr; } }
@media (max-width: 48rem) {
  header, main { padding-left: 1rem; padding-right: 1rem; } header { padding-top: 1.5rem; } h1 { font-size: 2rem; } section { padding: 2rem 0; }
  .tiles { grid-template-columns: repeat(2, 1fr); gap: .5rem; } .tile { padding: .75rem; } .tile .figure { font-size: 1.25rem; }
  table, tbody, tr, td, tbody th { display: block; } thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { padding: .75rem 0; border-bottom: 1px solid var(--line); } td, tbody th { padding: .125rem 0; border: 0; }
  td:not(:empty)::before { content: attr(data-head) ": "; color: var(--quiet); }
  details details { margin-left: .5rem; } section > details { padding: .25rem .75rem; } }
@media print { body { font-size: 11pt; } nav, .search { display: none; } section { padding: 1rem 0; break-inside: auto; } .findings li, tr, .tile { break-inside: avoid; } .gauge span { print-color-adjust: exact; } }
`;
