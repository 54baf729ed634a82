import { cloudFacts } from "../../../components/model/cloudFacts/cloudFacts.ts";
import { counted } from "../../counted.ts";
import type { Plan } from "../../plan.ts";
import { escapeHtml } from "../markdown.ts";
import { apiAccess } from "../tree.ts";
import { shortZone } from "./access.ts";

interface Figure {
  readonly name: string;
  readonly value: string;
  readonly detail: string;
  readonly kind?: "error" | "warning";
}

/** What a plan comes to, in five figures. */
export function figures(plan: Plan): readonly Figure[] {
  const { controlPlane, pools, network, findings } = plan;
  const members = controlPlane.members.length;
  const total = (each: (pool: Plan["pools"][number]) => number): number => pools.reduce((sum, pool) => sum + each(pool), 0);
  const windows = total(({ build, count }) => (build === null ? 0 : count));
  const workers = total(({ count }) => count);
  const most = total(({ count, autoscale }) => Math.max(count, autoscale?.max ?? 0));
  const open = findings.filter(({ acknowledged }) => acknowledged === null);
  const [errors, warnings, notes] = (["error", "warning", "note"] as const).map(
    (level) => open.filter((finding) => finding.level === level).length,
  );
  return [
    {
      name: "Machines",
      value: String(members + workers),
      detail: `${members} control plane, ${workers - windows} Linux, ${windows} Windows${most > workers ? `; up to ${members + most}` : ""}`,
    },
    {
      name: "vCPUs",
      value: String(members * controlPlane.vcpus + total(({ vcpus, count }) => vcpus * count)),
      detail: `${total(({ vcpus, count }) => vcpus * count)} of them in pools`,
    },
    {
      name: "Memory",
      value: `${members * controlPlane.memoryGib + total(({ memoryGib, count }) => memoryGib * count)} GiB`,
      detail: `${total(({ memoryGib, count }) => memoryGib * count)} GiB of it in pools`,
    },
    {
      name: "Zones",
      value: String(network.zones.length),
      detail: `${network.zones.map(({ zone }) => shortZone(plan, zone)).join(", ")} of ${plan.cluster.region}`,
    },
    {
      name: "Errors / warnings",
      value: `${errors} / ${warnings}`,
      detail: `and ${counted(notes ?? 0, "note")}`,
      ...(errors !== 0 ? { kind: "error" } : warnings !== 0 ? { kind: "warning" } : {}),
    },
  ];
}

/** Name, what it is, and the figures; beside each the one before, where there is an older plan. */
export function titleCard(plan: Plan, before: Plan | undefined): string {
  const { cluster } = plan;
  const older = new Map(before === undefined ? [] : figures(before).map(({ name, value }) => [name, value]));
  const tiles = figures(plan).map(({ name, value, detail, kind }) => {
    const was = older.get(name);
    const changed = was === undefined || was === value ? "" : `<span class="was">before: ${escapeHtml(was)}</span>`;
    return `<div class="tile${kind === undefined ? "" : ` ${kind}`}"><dt>${name}</dt><dd><b class="figure">${escapeHtml(value)}</b>${changed}<span class="detail">${escapeHtml(detail)}</span></dd></div>`;
  });
  return `<p class="kicker">Fenestra plan</p>
<h1>${escapeHtml(plan.stack)}</h1>
<p class="subtitle">Kubernetes ${escapeHtml(cluster.kubernetes)} on ${cloudFacts[cluster.cloud].words.title}, ${escapeHtml(cluster.region)}, ${escapeHtml(cluster.environment)}. API: ${escapeHtml(apiAccess(plan))}.</p>
<dl class="tiles">
${tiles.join("\n")}
</dl>`;
}
