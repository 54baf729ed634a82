import { cloudFacts } from "../../../components/model/cloudFacts/cloudFacts.ts";
import { ports } from "../../../components/model/ports.ts";
import type { Plan, PlanPool } from "../../plan.ts";
import { escapeHtml } from "../markdown.ts";
import { edge, holdersInWords, shortZone, stores } from "./access.ts";

/** What happened to pools and members, by name. */
export type Marks = ReadonlyMap<string, string>;

/** Nested boxes: who may reach the API, the network with zones and pools, and what is reached from it. */
export function picture(plan: Plan, marks: Marks): string {
  const { cluster, network, controlPlane, pools } = plan;
  const { nats, publicBalancer } = edge(plan);
  const kind = cloudFacts[cluster.cloud].words.network;
  const open = network.publicAccess;
  const zones = network.zones.map((zone) => {
    const members = controlPlane.members.flatMap(
      ({ etcdName, zone: where, address, size = controlPlane.size }, index) => {
        const details = [address, size, `etcd disk ${controlPlane.etcdDiskGb} GiB`];
        return where === zone.zone
          ? [box("control", etcdName, details, marks.get(`${cluster.name}-control-plane-${index}-instance`))]
          : [];
      },
    );
    const subnets = [
      `private ${zone.private}`,
      ...(zone.public === null ? [] : [`public ${zone.public}`]),
      `control plane ${zone.controlPlane}`,
    ];
    const gateways = nats.filter((nat) => nat === zone.zone).map(() => box("nat", "NAT gateway", []));
    return `<div class="zone">${title(`Zone ${zone.zone}`, subnets)}${gateways.join("")}${members.join("")}</div>`;
  });
  const balancer = (which: string): string => box("balancer", `${which} load balancer, TCP ${ports.api}`, []);
  const inside = [
    ...(publicBalancer ? [balancer("Public")] : []),
    `<div class="row">${zones.join("")}</div>`,
    balancer("Internal"),
    `<div class="row">${pools.map((pool) => poolBox(plan, pool, marks.get(pool.name))).join("")}</div>`,
  ];
  const name =
    network.existing === undefined
      ? `${kind} ${network.cidr}`
      : `Existing ${kind} ${network.existing.cidrs.join(", ")}`;
  return `<div class="picture" role="group" aria-label="Topology of ${escapeHtml(plan.stack)}">
<div>${open === null ? box("outside", "Nobody from outside", ["the API is private"]) : box("outside", "Allowed networks", open)}
<div class="network">${title(name, [])}${inside.join("\n")}</div></div>
<div>${outside(plan)}</div>
</div>`;
}

function poolBox(
  plan: Plan,
  { name, os, build, size, count, spot, autoscale, zones }: PlanPool,
  mark: string | undefined,
): string {
  const details = [
    `${count} × ${size}`,
    ...(autoscale === null ? [] : [`scales ${autoscale.min} to ${autoscale.max}`]),
    `${os}${spot ? ", spot" : ""}`,
    `${zones.length === 1 ? "zone" : "zones"} ${zones.map((zone) => shortZone(plan, zone)).join(", ")}`,
  ];
  return box(`pool ${build === null ? "linux" : "windows"}`, name, details, mark);
}

/** What machines reach outside: the internet, and stores by their identity. */
function outside(plan: Plan): string {
  const { endpoints } = edge(plan);
  const { nat, existing } = plan.network;
  const none = nat === "none";
  const details = [
    none ? "a mirror serves downloads and images" : "downloads and images",
    ...(none || existing === undefined ? [] : ["by the network's own way out"]),
    ...(endpoints.length === 0 ? [] : [`reached privately: ${endpoints.join(", ")}`]),
  ];
  const internet = none ? "No way to the internet" : existing === undefined ? "Internet" : "Internet or a mirror";
  const kept = stores(plan).map((store) => {
    const writers = store.writers.length === 0 ? [] : [`write: ${holdersInWords(plan, store.writers)}`];
    const lines = [
      ...(store.detail === "" ? [] : [store.detail]),
      `read: ${holdersInWords(plan, store.readers)}`,
      ...writers,
    ];
    return box("store", store.title, lines);
  });
  return `${box("outside", internet, details)}\n<div class="network">${title("Stores, by identity", [])}${kept.join("\n")}</div>`;
}

function box(kind: string, name: string, details: readonly string[], mark?: string): string {
  const badge = mark === undefined ? "" : `<span class="badge">${escapeHtml(mark)}</span>`;
  return `<div class="box ${kind}${mark === undefined ? "" : " marked"}">${title(name, details)}${badge}</div>`;
}

function title(name: string, details: readonly string[]): string {
  return `<b>${escapeHtml(name)}</b>${details.map((line) => `<span class="detail">${escapeHtml(line)}</span>`).join("")}`;
}
