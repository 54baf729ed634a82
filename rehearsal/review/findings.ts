import { guardRailFindings } from "../../components/kubernetes/guardRails.ts";
import { type CriticalPath, criticalPathTarget } from "../../components/machine/windowsCriticalPath.ts";
import { isImage } from "../../components/model/artifacts.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import type { PoolSpec } from "../../components/model/pools.ts";
import { minorFacts } from "../../components/model/versions.ts";
import type { Leak } from "../program/leaks.ts";
import type { RecordedProgram } from "../program/recorded.ts";
import { mapOf, textOf } from "../program/values.ts";
import { type Finding, type Level, levels } from "./finding.ts";
import type { PlanMachine } from "./plan.ts";

export { type Finding, type Level, levels };

/** What the rules look at. */
export interface FindingInput {
  readonly spec: ClusterSpec;
  readonly program: RecordedProgram;
  readonly machines: readonly PlanMachine[];
  /** Ways to Ready of the Windows pools. */
  readonly paths: ReadonlyMap<PoolSpec, CriticalPath>;
  readonly leaks: readonly Leak[];
  /** Day to judge support by, ISO date; without it nothing is said of support that ends. */
  readonly asOf: string | undefined;
}

type Rule = (input: FindingInput) => readonly Finding[];

const key = (name: string): string => `config.fenestra:${name}`;
const production = (spec: ClusterSpec): boolean => spec.environment === "production";
const worse = (spec: ClusterSpec): Level => (production(spec) ? "warning" : "note");
const windows = (pool: PoolSpec): boolean => pool.os.family === "windows";

/** Part of the limit from which on user data counts as nearly full. */
const nearlyFull = 0.9;

const rules: readonly Rule[] = [
  ({ leaks }) =>
    leaks.map(({ resource, path, what }) => ({
      id: "secret-in-the-open",
      level: "error",
      path: `${resource} ${path}`,
      message: `A value that is not marked as secret holds ${what}.`,
      remedy: "Let the machine fetch it by its identity at boot, or mark the value as secret.",
    })),
  ({ machines }) =>
    machines
      .filter(({ userData }) => userData.bytes > userData.limit * nearlyFull)
      .map(({ name, userData }) => ({
        id: "user-data-size",
        level: userData.bytes > userData.limit ? "error" : "warning",
        path: name,
        message: `The user data has ${userData.bytes} of ${userData.limit} bytes that the cloud takes.`,
        remedy: "Move a file of the payload to the second stage that the machine fetches by its identity.",
      })),
  ({ spec }) =>
    guardRailFindings(spec).map((message) => ({
      id: "guard-rails-incomplete",
      level: "note",
      path: key("kubernetes.version"),
      message: `${message}.`,
      remedy: "Choose Kubernetes 1.36 or newer, or set runtimeClassName on every Windows pod.",
    })),
  ({ spec }) =>
    (spec.publicAccess ?? [])
      .filter((network) => network.endsWith("/0"))
      .map((network) => ({
        id: "public-api-open",
        level: "error",
        path: key("access.public.allow"),
        message: `The Kubernetes API is reachable from the whole internet (${network}).`,
        remedy: "List the networks of your offices, runners and VPNs.",
      })),
  ({ spec }) =>
    spec.publicAccess === undefined
      ? [
          {
            id: "private-api",
            level: "note",
            path: key("access"),
            message: "The Kubernetes API is reachable from the private network only, for the deployer too.",
            remedy: "Run the update from a machine that reaches the network, or add access.public with an allow-list.",
          },
        ]
      : [],
  ({ spec }) =>
    spec.network.nat === "single" && spec.network.zones.length > 1 && production(spec)
      ? [
          {
            id: "single-nat-gateway",
            level: "warning",
            path: key("network.nat"),
            message: "One NAT gateway serves every zone: with its zone, all machines lose their way out.",
            remedy: "Set network.nat to perZone.",
          },
        ]
      : [],
  ({ spec }) =>
    spec.controlPlane.members.length === 1
      ? [
          {
            id: "single-control-plane",
            level: worse(spec),
            path: key("controlPlane.replicas"),
            message: "One control-plane machine: while it is replaced or lost the API is away.",
            remedy: "Set controlPlane.replicas to 3.",
          },
        ]
      : [],
  ({ spec }) =>
    spec.controlPlane.members.length > 1 && spec.network.zones.length < spec.controlPlane.members.length
      ? [
          {
            id: "quorum-in-one-zone",
            level: worse(spec),
            path: key("network.zones"),
            message: `${spec.controlPlane.members.length} control-plane machines share ${spec.network.zones.length} ${spec.network.zones.length === 1 ? "zone" : "zones"}: losing one zone can lose the quorum of etcd.`,
            remedy: "Name three zones.",
          },
        ]
      : [],
  ({ spec }) =>
    spec.pools.some((pool) => !windows(pool) && (pool.count > 0 || (pool.autoscale?.max ?? 0) > 0))
      ? []
      : [
          {
            id: "no-linux-capacity",
            level: "warning",
            path: key("pools"),
            message: "No Linux pool: add-ons and Linux workloads have nowhere to run beside the control plane.",
            remedy: "Add a pool with os: linux.",
          },
        ],
  ({ spec }) =>
    spec.pools.flatMap((pool): readonly Finding[] =>
      pool.os.family === "windows" && !pool.os.upstreamSupported
        ? [
            {
              id: "windows-past-upstream-support",
              level: "warning",
              path: `${pool.path}.os`,
              message: `${pool.os.title} is no longer listed by upstream Kubernetes${pool.os.hostReachesOwnPods ? "" : ", and its nodes cannot reach their own pods, so HTTP and TCP probes by pod address fail"}.`,
              remedy: "Move the workloads to a windows-2022 or windows-2025 pool, with images of that build.",
            },
          ]
        : [],
    ),
  ({ spec }) =>
    spec.pools.flatMap(({ os, image, path }): readonly Finding[] => {
      if (os.family !== "windows" || !("overlayRepaired" in os) || image === "latest") return [];
      const made = imageDate(image);
      if (made !== undefined && made >= os.overlayRepaired) return [];
      return [
        {
          id: "windows-overlay-fault",
          level: made === undefined ? "note" : "warning",
          path: `${path}.image`,
          message: `${os.title} needs the updates of ${os.overlayRepaired} for the pod network; ${made === undefined ? "an AMI id does not tell the day of its updates" : `this image is of ${made}`}.`,
          remedy: `Pin an image with the updates of ${os.overlayRepaired} or later.`,
        },
      ];
    }),
  ({ spec }) =>
    [
      { path: key("controlPlane.image"), image: spec.controlPlane.image },
      ...spec.pools.map(({ path, image }) => ({ path: `${path}.image`, image })),
    ]
      .filter(({ image }) => image === "latest")
      .map(({ path }) => ({
        id: "image-latest",
        level: worse(spec),
        path,
        message: "The image is the newest one at each launch: two machines of one pool may differ.",
        remedy: "Pin an image that you have tested.",
      })),
  ({ spec, program }) =>
    spec.pools
      .filter(({ autoscale }) => autoscale !== undefined && !hasAutoscaler(program))
      .map(({ path }) => ({
        id: "no-autoscaler",
        level: "note",
        path: `${path}.autoscale`,
        message:
          "The pool has bounds for the autoscaler, but the program deploys none: the count stays at the lower bound.",
        remedy: "Install the cluster autoscaler; the group carries the tags that it looks for.",
      })),
  ({ spec }) =>
    spec.pools
      .filter(({ spot }) => spot && production(spec))
      .map(({ path }) => ({
        id: "spot-in-production",
        level: "note",
        path: `${path}.spot`,
        message: "The cloud may take these machines back at two minutes' notice or less.",
        remedy: "Keep enough machines of another pool for what must not stop.",
      })),
  ({ spec }) =>
    spec.addons.samples && production(spec)
      ? [
          {
            id: "samples-in-production",
            level: "warning",
            path: key("addons.samples"),
            message: "Sample web servers run beside your workloads, with a load balancer for each Windows build.",
            remedy: "Leave addons.samples out.",
          },
        ]
      : [],
  ({ spec }) =>
    spec.pools
      .filter(({ nodeLogQuery }) => nodeLogQuery)
      .map(({ path }) => ({
        id: "node-logs-by-api",
        level: worse(spec),
        path: `${path}.nodeLogQuery`,
        message: "Whoever may use nodes/proxy reads the event logs and journals of these nodes through the API.",
        remedy: "Turn nodeLogQuery off when you have found what you look for.",
      })),
  ({ spec }) =>
    spec.accountId === undefined && production(spec)
      ? [
          {
            id: "no-account-guard",
            level: "warning",
            path: key("accountId"),
            message: "Nothing stops an update with the credentials of another account.",
            remedy: "Set accountId to the account or subscription of this stack.",
          },
        ]
      : [],
  ({ spec, asOf }) => {
    const facts = minorFacts(spec.kubernetes.version);
    return asOf !== undefined && facts !== undefined && asOf > facts.endOfLife
      ? [
          {
            id: "kubernetes-out-of-support",
            level: "warning",
            path: key("kubernetes.version"),
            message: `Upstream support of Kubernetes ${facts.minor} ended on ${facts.endOfLife}.`,
            remedy: "Upgrade to the next minor, one at a time.",
          },
        ]
      : [];
  },
  ({ paths }) =>
    [...paths]
      .filter(([, { withinTarget }]) => !withinTarget)
      .map(([{ path, os }, { megabytes, reboots }]) => ({
        id: "slow-to-ready",
        level: "warning",
        path,
        message: `By the model a machine of ${os.name} downloads ${megabytes} MB and reboots ${reboots} times before it is Ready; the target is ${criticalPathTarget.megabytes} MB and ${criticalPathTarget.reboots}.`,
        remedy: "Use a mirror near the machines, and look in the plan which download grew.",
      })),
  ({ spec, machines }) =>
    spec.artifacts
      .filter(
        (artifact) =>
          artifact.digest === null &&
          !isImage(artifact) &&
          machines.some(({ files }) => files.some(({ content }) => content.includes(artifact.url))),
      )
      .map(({ name, version, os }) => ({
        id: "artifact-without-digest",
        level: "warning",
        path: `${name} ${version} (${os})`,
        message: "The lock file has no digest; the machine trusts the checksum file of the publisher at download.",
        remedy: "Run fenestra pin where the publisher can be reached.",
      })),
  ({ spec, program, machines }) => {
    const objects = program.resources.filter(({ type }) => type.startsWith("kubernetes:"));
    const texts = [
      ...objects.map(({ inputs }) => JSON.stringify(inputs)),
      ...machines.flatMap(({ files }) => files.map(({ content }) => content)),
    ];
    const tags = spec.artifacts
      .filter((artifact) => artifact.digest === null && isImage(artifact))
      .filter(({ url }) => texts.some((text) => text.includes(`"${url}"`)))
      .map(({ url }) => url);
    return tags.length === 0
      ? []
      : [
          {
            id: "image-without-digest",
            level: worse(spec),
            path: "components/model/artifacts.lock.json",
            message: `Images that are named by tag alone, which a registry may move: ${tags.join(", ")}.`,
            remedy: "Run fenestra pin where the registries can be reached.",
          },
        ];
  },
  ({ program }) =>
    program.resources
      .filter(({ type, inputs }) => type === "aws:ebs/volume:Volume" && inputs.encrypted !== true)
      .map(({ name }) => ({
        id: "disk-not-encrypted",
        level: "error",
        path: name,
        message: "The volume is not encrypted.",
        remedy: "Set encrypted.",
      })),
];

function hasAutoscaler(program: RecordedProgram): boolean {
  return program.resources.some(
    ({ type, inputs }) =>
      type === "kubernetes:apps/v1:Deployment" &&
      (textOf(mapOf(inputs.metadata).name) ?? "").includes("cluster-autoscaler"),
  );
}

/** Everything that a reviewer should look at, worst first, then by rule and place. */
export function findings(input: FindingInput): readonly Finding[] {
  const order = (finding: Finding) => `${levels.indexOf(finding.level)} ${finding.id} ${finding.path}`;
  return rules.flatMap((rule) => rule(input)).sort((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0));
}

/** Whether any finding is at a level or worse. */
export function reaches(all: readonly Finding[], level: Level): boolean {
  return all.some((finding) => levels.indexOf(finding.level) <= levels.indexOf(level));
}

/** Day of an Azure image's updates, an ISO date: its version ends in yymmdd. `undefined` for an AMI id, which tells no day. */
function imageDate(image: string): string | undefined {
  const [, year, month, day] = /^\d+\.\d+\.(\d{2})(\d{2})(\d{2})$/.exec(image) ?? [];
  return day === undefined ? undefined : `20${year}-${month}-${day}`;
}
