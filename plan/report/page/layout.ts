import { ports } from "../../../components/model/ports.ts";
import type { Plan, PlanPool } from "../plan.ts";
import { edge, holdersInWords, shortZone, stores } from "./access.ts";
import { type Area, type Box, Canvas, fitted, type Scene } from "./scene.ts";

/** Widths of the whole picture, and of what stands beside the network in the wide one. */
const forms = { wide: { width: 1120, beside: 290 }, narrow: { width: 358, beside: 0 } } as const;
const pad = 14;
const gap = 12;
/** Room at the left of the network for the arrows. */
const gutter = 26;
const lane = pad + gutter / 2;
const labelHeight = 18;

/** What happens to pools and members since an older plan, in words, by their names. */
export type Marks = ReadonlyMap<string, string>;

type Zone = Plan["network"]["zones"][number];

/** The network's columns: one per zone, or one for all in a narrow picture. */
interface Columns {
  readonly zones: readonly (readonly string[])[];
  readonly width: number;
  readonly left: (column: number) => number;
}

/** What the parts of the picture are made of. */
interface Sheet {
  readonly plan: Plan;
  readonly canvas: Canvas;
  readonly columns: Columns;
  /** Width of the network's content. */
  readonly inner: number;
  readonly marks: Marks;
}

/**
 * Lays the topology out: networks that may reach the API on top, the cluster's network with its edge, control plane and pools by zone, and
 * what is reached from it beside it (wide) or below it (narrow). Pure geometry; boxes never overlap.
 */
export function layOut(plan: Plan, form: keyof typeof forms, marks: Marks = new Map()): Scene {
  const { width, beside } = forms[form];
  const wide = form === "wide";
  const networkWidth = wide ? width - beside - 3 * gap : width;
  const inner = networkWidth - 2 * pad;
  const zones = plan.network.zones.map(({ zone }) => zone);
  const count = wide ? Math.max(1, zones.length) : 1;
  const columnWidth = (inner - gutter - (count - 1) * gap) / count;
  const columns: Columns = {
    zones: wide ? zones.map((zone) => [zone]) : [zones],
    width: columnWidth,
    left: (column) => pad + gutter + column * (columnWidth + gap),
  };
  const canvas = new Canvas();
  const sheet = { plan, canvas, columns, inner, marks };
  const open = plan.network.publicAccess;
  const outside = canvas.box(
    {
      kind: "outside",
      title: open === null ? "Nobody from outside" : "Allowed networks",
      details: [open === null ? "the API is private" : listed(open, 4)],
    },
    pad,
    1,
    wide ? Math.min(inner, 460) : inner,
  );
  const top = end(outside) + 36;
  const edgeEnd = placeEdge(sheet, outside, top + 34);
  const control = placeControlPlane(sheet, edgeEnd.y);
  if (edgeEnd.balancer !== undefined)
    canvas.arrow([lane, end(edgeEnd.balancer)], [lane, control.y + 14], [pad + gutter - 3, control.y + 14]);
  const balancer = canvas.box(
    { kind: "balancer", title: `Internal load balancer, TCP ${ports.api}`, details: [] },
    pad,
    end(control) + gap,
    inner,
  );
  canvas.arrow([lane, balancer.y], [lane, end(control) - 14], [pad + gutter - 3, end(control) - 14]);
  const pools = placePools(sheet, end(balancer) + gap);
  canvas.arrow([pad + gutter, pools.y + 14], [lane, pools.y + 14], [lane, end(balancer) + 3]);
  const network = { x: 1, y: top, width: networkWidth - 2, height: end(pools) + pad - top };
  const { cidr, existing } = plan.network;
  const kind = plan.cluster.cloud === "aws" ? "VPC" : "VNet";
  const title = existing === undefined ? `${kind} ${cidr}` : `Existing ${kind} ${existing.cidrs.join(", ")}`;
  const indent = pad + gutter + 7;
  canvas.frames.unshift({ ...network, kind: "network", label: fitted(title, network.width - indent, "title"), indent });
  const below = wide
    ? placeOutside(sheet, { x: networkWidth + 3 * gap, y: top, width: beside - 1 }, pools.y + 50)
    : placeOutside(sheet, { x: pad, y: end(network) + 36, width: inner }, 0);
  if (wide) {
    const bus = top + 20;
    for (const { x, y, width: natWidth } of edgeEnd.nats)
      canvas.arrow([x + natWidth - 20, y], [x + natWidth - 20, bus], [below.internet.x - 3, bus]);
    for (const band of [control, pools]) {
      const y = Math.max(band.y, below.stores.y) + 30;
      canvas.arrow([band.x + band.width, y], [below.stores.x - 3, y]);
    }
  } else canvas.arrow([width / 2, end(network)], [width / 2, below.internet.y - 3]);
  const { frames, boxes, labels, arrows } = canvas;
  return { width, height: Math.max(end(network), end(below.stores)) + 2, frames, boxes, labels, arrows };
}

/** NAT gateways, and the public load balancer below them. */
function placeEdge(
  { plan, canvas, columns, inner }: Sheet,
  outside: Box,
  top: number,
): { readonly y: number; readonly nats: readonly Box[]; readonly balancer: Box | undefined } {
  const { nats: zones, publicBalancer } = edge(plan);
  let y = top;
  if (columns.zones.length > 1 || columns.zones[0]?.length === 1)
    y = labels(canvas, columns, y, plan.network.zones, ({ zone }) => `zone ${zone}`);
  if (isMade(plan, ({ public: cidr }) => cidr))
    y = labels(canvas, columns, y, plan.network.zones, (zone) => `public ${zone.public}${inZone(plan, columns, zone)}`);
  const width = Math.min(columns.width - 16, Math.max(columns.width / 2, 140));
  const nats = zones.map((zone, index) => {
    const column = columnOf(columns, zone);
    const row = columns.zones.length === 1 ? index : 0;
    const x = columns.left(column) + columns.width - 8 - width;
    return canvas.box({ kind: "nat", title: "NAT gateway", details: [`zone ${shortZone(plan, zone)}`] }, x, y + row * 68, width);
  });
  y = Math.max(y, ...nats.map((nat) => end(nat) + gap));
  if (!publicBalancer) return { y, nats, balancer: undefined };
  const balancer = canvas.box({ kind: "balancer", title: `Public load balancer, TCP ${ports.api}`, details: [] }, pad, y, inner);
  canvas.arrow([lane, end(outside)], [lane, balancer.y - 3]);
  return { y: end(balancer) + gap, nats, balancer };
}

function placeControlPlane({ plan, canvas, columns, inner, marks }: Sheet, top: number): Area {
  const { members, size, etcdDiskGb } = plan.controlPlane;
  const start = labels(
    canvas,
    columns,
    top + 6,
    plan.network.zones,
    (zone) => `control plane ${zone.controlPlane}${inZone(plan, columns, zone)}`,
  );
  const bottoms = new Map<number, number>();
  for (const [index, { etcdName, zone, address }] of members.entries()) {
    const column = columnOf(columns, zone);
    const box = canvas.box(
      {
        kind: "control",
        title: etcdName,
        details: [`${address}${columns.zones.length === 1 ? `, zone ${shortZone(plan, zone)}` : ""}`, size, `etcd disk ${etcdDiskGb} GiB`],
        badge: marks.get(`${plan.cluster.name}-control-plane-${index}-instance`),
        sheets: 1,
      },
      columns.left(column) + 8,
      bottoms.get(column) ?? start,
      columns.width - 16,
    );
    bottoms.set(column, end(box) + gap);
  }
  return band(canvas, top, Math.max(start, ...bottoms.values()), inner);
}

/** Pools in rows, those in different zones beside each other. */
function placePools({ plan, canvas, columns, inner, marks }: Sheet, top: number): Area {
  let y = labels(canvas, columns, top + 6, plan.network.zones, (zone) => `private ${zone.private}${inZone(plan, columns, zone)}`);
  let row = { y, bottom: y, taken: new Set<number>() };
  for (const pool of plan.pools) {
    const used = columns.zones.flatMap((names, index) => (names.some((name) => pool.zones.includes(name)) ? [index] : []));
    const [from, to] = [used[0] ?? 0, used.at(-1) ?? 0];
    const needed = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    if (needed.some((column) => row.taken.has(column))) row = { y, bottom: y, taken: new Set() };
    for (const column of needed) row.taken.add(column);
    const system = `${pool.os}${pool.spot ? ", spot" : ""}`;
    const says = [`${pool.count} × ${pool.size}`, ...scaleOf(pool), system];
    const named = used.length < needed.length || columns.zones.length === 1;
    if (named) says.push(`${pool.zones.length === 1 ? "zone" : "zones"} ${pool.zones.map((zone) => shortZone(plan, zone)).join(", ")}`);
    const box = canvas.box(
      {
        kind: `pool ${pool.build === null ? "linux" : "windows"}`,
        title: pool.name,
        details: needed.length > 1 ? [says.join(", ")] : says,
        badge: marks.get(pool.name),
        sheets: Math.min(4, pool.count),
      },
      columns.left(from) + 8,
      row.y,
      columns.left(to) + columns.width - columns.left(from) - 16,
    );
    row.bottom = Math.max(row.bottom, end(box));
    y = row.bottom + gap;
  }
  return band(canvas, top, y, inner);
}

/** What the machines reach outside of their subnets: the internet, and stores in a frame that ends at `least` or below. */
function placeOutside(
  { plan, canvas }: Sheet,
  { x, y, width }: Omit<Area, "height">,
  least: number,
): { readonly internet: Box; readonly stores: Area } {
  const { endpoints } = edge(plan);
  const { nat, existing } = plan.network;
  const none = nat === "none";
  const internet = canvas.box(
    {
      kind: "outside",
      title: none ? "No way to the internet" : existing === undefined ? "Internet" : "Internet or a mirror",
      details: [
        none ? "a mirror serves downloads and images" : "downloads and images",
        ...(none || existing === undefined ? [] : ["by the network's own way out"]),
        ...(endpoints.length === 0 ? [] : [`reached privately: ${endpoints.join(", ")}`]),
      ],
    },
    x,
    y,
    width,
  );
  const top = end(internet) + gap;
  let next = top + 34;
  for (const { title, detail, readers, writers } of stores(plan)) {
    const details = [
      ...(detail === "" ? [] : [detail]),
      `read: ${holdersInWords(plan, readers)}`,
      ...(writers.length === 0 ? [] : [`write: ${holdersInWords(plan, writers)}`]),
    ];
    next = end(canvas.box({ kind: "store", title, details }, x + 10, next, width - 20)) + gap;
  }
  const frame = { kind: "stores", label: "Stores, by identity", x, y: top, width, height: Math.max(next, least) - top };
  canvas.frames.push(frame);
  return { internet, stores: frame };
}

/** A line above each column, or the lines of all zones in the only one. Returns where the next thing starts. */
function labels(canvas: Canvas, columns: Columns, top: number, zones: readonly Zone[], text: (zone: Zone) => string): number {
  const one = columns.zones.length === 1;
  for (const [index, zone] of zones.entries())
    canvas.label(text(zone), columns.left(one ? 0 : index) + 8, top + 13 + (one ? index * labelHeight : 0), columns.width - 16);
  return top + (one ? zones.length : 1) * labelHeight + 4;
}

/** A frame around a row of the network. */
function band(canvas: Canvas, top: number, bottom: number, inner: number): Area {
  const area = { x: pad + gutter, y: top, width: inner - gutter, height: bottom - top };
  canvas.frames.push({ ...area, kind: "band", label: "" });
  return area;
}

function columnOf({ zones }: Columns, zone: string): number {
  return Math.max(
    0,
    zones.findIndex((names) => names.includes(zone)),
  );
}

/** Which zone a line is about, where one column stands for all. */
function inZone(plan: Plan, { zones }: Columns, { zone }: Zone): string {
  return zones.length === 1 ? `, zone ${shortZone(plan, zone)}` : "";
}

function end({ y, height }: Area): number {
  return y + height;
}

function scaleOf({ autoscale }: PlanPool): readonly string[] {
  return autoscale === null ? [] : [`scales ${autoscale.min} to ${autoscale.max}`];
}

/** Whether the program makes subnets of this kind; Azure has none for its edge. */
function isMade({ network, resources }: Plan, of: (zone: Zone) => string | null): boolean {
  // Of an existing network the stack file names all that are used.
  if (network.existing !== undefined) return network.zones.some((zone) => of(zone) !== null);
  const subnets = resources.filter(({ type }) => /:Subnet$/.test(type)).map(({ inputs }) => JSON.stringify(inputs));
  return network.zones.some((zone) => subnets.some((inputs) => inputs.includes(`"${of(zone)}"`)));
}

function listed(all: readonly string[], most: number): string {
  return all.length <= most ? all.join(", ") : `${all.slice(0, most).join(", ")} and ${all.length - most} more`;
}
