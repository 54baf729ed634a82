import { stagesOf } from "../components/machine/windows/stages.ts";

/** `before`: as of the release that had no images. */
const boots = ["before", "stock", "baked"] as const;
type Seconds = readonly [before: number, stock: number, baked: number];

/**
 * Seconds of a boot's parts; none was measured on a cloud: orders of magnitude that users of EC2, EKS and AKS publish
 * (runs-on/runner-images-for-aws#71, aws/karpenter-provider-aws#3798, jenkins-infra/jenkins-infra#4331).
 */
const parts: readonly { readonly what: string; readonly aws: Seconds; readonly azure: Seconds }[] = [
  // EBS fetches touched blocks of an image at 5 MiB/s, unless a rate is paid for.
  { what: "start to first code", aws: [120, 75, 75], azure: [110, 110, 110] },
  { what: "scripts, or Azure's extension", aws: [5, 5, 5], azure: [35, 35, 35] },
  { what: "features beside downloads", aws: [180, 110, 0], azure: [150, 150, 0] },
  { what: "restart", aws: [90, 60, 0], azure: [75, 75, 0] },
  { what: "settings beside the look at programs", aws: [0, 0, 10], azure: [0, 0, 10] },
  { what: "network, join, services", aws: [25, 25, 25], azure: [25, 25, 25] },
  { what: "certificate, images of the first pods", aws: [30, 20, 15], azure: [30, 20, 15] },
  { what: "pod network, and HNS' cut", aws: [20, 20, 20], azure: [20, 20, 20] },
];
/** Processes that start for user data. */
const starts = { aws: 2, azure: 1 } as const;
const megabytes: Seconds = [300, 300, 0];
const restarts: Seconds = [1, 1, 0];

/** The boots' times in lines, for `make bench`. */
export function bootModel(): readonly string[] {
  const stages = stagesOf({ credentials: { proxy: false, registries: [] } }, { ccgPlugin: false, annotations: {} });
  const columns = (["aws", "azure"] as const).flatMap((cloud) => boots.map((boot, index) => ({ cloud, boot, index })));
  const row = (what: string, cell: (column: (typeof columns)[number]) => string | number) =>
    `${what.padEnd(40)}${columns.map((column) => String(cell(column)).padStart(14)).join("")}`;
  // User data's, the tasks of each boot, and a stage each.
  const processes = (cloud: "aws" | "azure", index: number) =>
    starts[cloud] + 3 * (1 + (restarts[index] ?? 0)) + stages.length - (index === 0 ? 1 : 0);
  return [
    "Boot of a Windows node with flannel, a model: no second was measured on a cloud",
    row("", ({ cloud, boot }) => `${cloud} ${boot}`),
    ...parts.map((part) => row(part.what, ({ cloud, index }) => part[cloud][index] ?? 0)),
    row("seconds to Ready", ({ cloud, index }) => parts.reduce((sum, part) => sum + (part[cloud][index] ?? 0), 0)),
    row("MB downloaded, container images apart", ({ index }) => megabytes[index] ?? 0),
    row("processes of PowerShell", ({ cloud, index }) => processes(cloud, index)),
    row("restarts", ({ index }) => restarts[index] ?? 0),
    "",
  ];
}
