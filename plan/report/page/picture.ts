import { escapeHtml } from "../markdown.ts";
import type { Plan } from "../plan.ts";
import { layOut, type Marks } from "./layout.ts";
import { type Box, inset, lineHeight, type Scene, stackWidth } from "./scene.ts";

/** The topology as two pictures, of which a style shows the one that fits the window. */
export function picture(plan: Plan, marks: Marks, id: string): string {
  return (["wide", "narrow"] as const)
    .map((form) => `<div class="picture ${form}">${sceneSvg(layOut(plan, form, marks), `${id}-${form}`, describe(plan))}</div>`)
    .join("\n");
}

/** The picture in a sentence, for those who do not see it. */
function describe({ stack, network, controlPlane, pools }: Plan): string {
  const machines = pools.reduce((sum, { count }) => sum + count, 0);
  return `Topology of ${stack}: ${controlPlane.members.length} control-plane machines and ${pools.length} pools with ${machines} machines in ${network.zones.length} zones of ${network.cidr}. The tables below say the same.`;
}

/** A scene as SVG. Its words are those of the tables on the page, so it counts as one image. */
function sceneSvg({ width, height, frames, boxes, labels, arrows }: Scene, id: string, title: string): string {
  return [
    `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="${id}" xmlns="http://www.w3.org/2000/svg">`,
    `<title id="${id}">${escapeHtml(title)}</title>`,
    `<defs><marker id="${id}-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>`,
    ...frames.map(
      ({ kind, label, indent = 14, ...area }) =>
        `<rect class="frame ${kind}" ${rectangle(area)} rx="10"/>${label === "" ? "" : text(area.x + indent, area.y + 24, "title", label)}`,
    ),
    ...arrows.map(
      ({ points }) =>
        `<path class="arrow" d="M${points.map(([x, y]) => `${round(x)} ${round(y)}`).join("L")}" marker-end="url(#${id}-head)"/>`,
    ),
    ...labels.filter((label) => label.text !== "").map((label) => text(label.x, label.y, "detail", label.text)),
    ...boxes.map(drawn),
    "</svg>",
  ].join("\n");
}

function drawn(box: Box): string {
  const { kind, lines, sheets } = box;
  const at = box.x + inset + (sheets === undefined ? 0 : stackWidth);
  return [
    `<g class="box ${kind}"><rect ${rectangle(box)} rx="7"/>`,
    ...(sheets === undefined ? [] : [machines(box, sheets)]),
    ...lines.map((line, index) => text(at, box.y + inset + 12 + index * lineHeight, line.kind, line.text)),
    "</g>",
  ].join("");
}

/** A stack of machines as sheets behind each other; an empty one is an outline. */
function machines({ x, y, height }: Box, sheets: number): string {
  const top = y + height / 2 - 10;
  const count = Math.max(1, sheets);
  return Array.from({ length: count }, (_, index) => {
    const shift = (count - 1 - index) * 4 - (count - 1) * 2;
    return `<rect class="sheet${sheets === 0 ? " empty" : ""}" x="${round(x + inset + 3 + shift)}" y="${round(top - shift)}" width="22" height="18" rx="3"/>`;
  }).join("");
}

function rectangle({ x, y, width, height }: { x: number; y: number; width: number; height: number }): string {
  return `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
}

function text(x: number, y: number, kind: string, content: string): string {
  return `<text class="${kind}" x="${round(x)}" y="${round(y)}">${escapeHtml(content)}</text>`;
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
