import { escapeHtml } from "../markdown.ts";

export function section(id: string, title: string, content: string, lead = ""): string {
  return `<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>${lead === "" ? "" : `<p class="lead">${lead}</p>`}
${content}</section>`;
}

/** Rows become cards in a narrow window, without a table's display: hence the roles. Cells are HTML, heads text. */
export function table(caption: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const heads = head.map((title) => `<th role="columnheader" scope="col">${escapeHtml(title)}</th>`).join("");
  const cells = (row: readonly string[]): string =>
    row
      .map((cell, index) =>
        index === 0
          ? `<th role="rowheader" scope="row">${cell}</th>`
          : `<td role="cell" data-head="${escapeHtml(head[index] ?? "")}">${cell}</td>`,
      )
      .join("");
  return `<table role="table"><caption>${escapeHtml(caption)}</caption><thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => `<tr role="row">${cells(row)}</tr>`).join("\n")}</tbody></table>`;
}

export function folded(summary: string, content: string, attributes = ""): string {
  return `<details${attributes}><summary>${summary}</summary>\n${content}</details>`;
}

export function code(text: string): string {
  return text === "" ? "" : `<code>${escapeHtml(text)}</code>`;
}

export function codes(texts: readonly string[]): string {
  return texts.map(code).join("<br>");
}

export function scrolling(html: string): string {
  return `<pre tabindex="0">${html}</pre>`;
}

export function list(lines: readonly string[]): string {
  return `<ul>${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join("")}</ul>`;
}
