import { ports } from "../../components/model/ports.ts";
import { escapeHtml } from "./markdown.ts";
import type { Plan } from "./plan.ts";

const box = { width: 210, height: 46, gap: 14 } as const;
const zoneWidth = box.width + 2 * box.gap;
const top = 96;

/** The topology as SVG: the load balancers above, a column per zone with its control-plane machines and its share of every pool. */
export function topologySvg(plan: Plan): string {
  const { zones } = plan.network;
  const columns = zones.map(({ zone }) => ({
    zone,
    boxes: [
      ...plan.controlPlane.members
        .filter((member) => member.zone === zone)
        .map(({ etcdName, address }) => ({ kind: "control", title: `control plane ${etcdName}`, detail: address })),
      ...plan.pools
        .filter((pool) => pool.zones.includes(zone))
        .map((pool) => ({
          kind: pool.build === null ? "linux" : "windows",
          title: `${pool.name}: ${shareOf(pool.count, pool.zones.length, pool.zones.indexOf(zone))} x ${pool.size}`,
          detail: pool.os,
        })),
    ],
  }));
  const rows = Math.max(1, ...columns.map(({ boxes }) => boxes.length));
  const height = top + 34 + rows * (box.height + box.gap) + box.gap;
  const width = columns.length * (zoneWidth + box.gap) + box.gap;
  const middle = width / 2;
  return [
    `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="Topology of ${escapeHtml(plan.stack)}" xmlns="http://www.w3.org/2000/svg">`,
    label(
      middle,
      20,
      `API :${ports.api}, ${plan.network.publicAccess === null ? "private load balancer" : "private and public load balancer"}`,
      "title",
    ),
    `<rect class="balancer" x="${middle - 120}" y="32" width="240" height="34" rx="6"/>`,
    label(middle, 54, `NAT ${plan.network.nat}, network ${plan.network.cidr}`, "detail"),
    ...columns.flatMap(({ zone, boxes }, column) => {
      const x = box.gap + column * (zoneWidth + box.gap);
      return [
        `<path class="line" d="M${middle} 66 L${x + zoneWidth / 2} ${top}"/>`,
        `<rect class="zone" x="${x}" y="${top}" width="${zoneWidth}" height="${height - top - box.gap}" rx="8"/>`,
        label(x + zoneWidth / 2, top + 22, zone, "title"),
        ...boxes.flatMap(({ kind, title, detail }, row) => {
          const y = top + 34 + row * (box.height + box.gap);
          return [
            `<rect class="${kind}" x="${x + box.gap}" y="${y}" width="${box.width}" height="${box.height}" rx="6"/>`,
            label(x + zoneWidth / 2, y + 20, title, "title"),
            label(x + zoneWidth / 2, y + 37, detail, "detail"),
          ];
        }),
      ];
    }),
    "</svg>",
  ].join("\n");
}

/** How many of a pool's machines a zone gets when they are spread evenly, the first zones taking the remainder. */
function shareOf(count: number, zones: number, index: number): number {
  return Math.floor(count / zones) + (index < count % zones ? 1 : 0);
}

function label(x: number, y: number, text: string, kind: string): string {
  return `<text class="${kind}" x="${x}" y="${y}" text-anchor="middle">${escapeHtml(text)}</text>`;
}
