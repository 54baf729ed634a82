import { writeFile } from "node:fs/promises";
import path from "node:path";
import { stringify } from "yaml";
import type { ApiClients } from "../../check/cluster/clusterApi.ts";
import { limitsMs } from "../host/command.ts";
import { startInMachine, waitFor } from "../host/processes.ts";

const label = "kwok.x-k8s.io/node";

/**
 * Selects KWOK's nodes. Not by KWOK's annotation: a watch by label calls a node that gets it later new, and only of new
 * nodes does KWOK take the lease (kwok: pkg/kwok/controllers/node_controller.go).
 */
const kwokSelector = `${label}=fake`;

/** Lets KWOK take a registered node, with `more` labels. */
export async function giveToKwok(
  { core }: ApiClients,
  name: string,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  await relabel(core, name, (labels) => ({ ...labels, ...more, [label]: "fake" }));
}

/**
 * Takes a node from KWOK, as when its machine ends: nobody renews its lease, and after its grace period the
 * controller-manager finds it lost (kwok v0.8.0: pkg/kwok/controllers/node_controller.go; a watch by label sees the
 * node deleted).
 */
export async function takeFromKwok({ core }: ApiClients, name: string): Promise<void> {
  await relabel(core, name, ({ [label]: _, ...others }) => others);
}

async function relabel(
  core: ApiClients["core"],
  name: string,
  change: (labels: Readonly<Record<string, string>>) => Readonly<Record<string, string>>,
): Promise<void> {
  const write = async () => {
    const node = await core.readNode({ name });
    const labels = change(node.metadata?.labels ?? {});
    return await core.replaceNode({ name, body: { ...node, metadata: { ...node.metadata, labels } } });
  };
  // Controllers write to a node too.
  await waitFor(`the labels of node ${name} to be written`, limitsMs.change, write);
}

/** A rule of KWOK: objects of the selector get the next status, or are deleted. */
interface Stage {
  readonly name: string;
  readonly kind: "Node" | "Pod";
  readonly when: readonly (readonly [
    key: string,
    operator: "In" | "NotIn" | "Exists" | "DoesNotExist",
    values?: readonly string[],
  ])[];
  readonly next: { readonly delete: true } | { readonly statusTemplate: string };
}

const nodeReady = `
{{ $now := Now }}
conditions:
{{ range NodeConditions }}
- type: {{ .type | Quote }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ $now | Quote }}
{{ end }}
phase: Running
`;

const podReady = `
{{ $now := Now }}
phase: Running
conditions:
- {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
- {type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }}}
- {type: ContainersReady, status: "True", lastTransitionTime: {{ $now | Quote }}}
`;

const podRunning = `${podReady}
startTime: {{ $now | Quote }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: true
  restartCount: 0
  state: {running: {startedAt: {{ $now | Quote }}}}
{{ end }}
{{ with PodIPsWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) }}
podIP: {{ index . 0 | Quote }}
podIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}
{{ end }}
`;

const podSucceeded = `
{{ $now := Now }}
phase: Succeeded
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: false
  restartCount: 0
  state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}}
{{ end }}
`;

const notReady = ['.status.conditions.[] | select( .type == "Ready" ) | .status', "NotIn", ["True"]] as const;

const pod = (name: string, phase: string, statusTemplate: string, ...more: Stage["when"]): Stage => ({
  name,
  kind: "Pod",
  when: [[".metadata.deletionTimestamp", "DoesNotExist"], [".status.phase", "In", [phase]], ...more],
  next: { statusTemplate },
});

/**
 * KWOK's rules in a rehearsal: nodes get Ready and stay so, pods run, those not to be started again end, deleted ones
 * go.
 */
const stages: readonly Stage[] = [
  { name: "node-ready", kind: "Node", when: [notReady], next: { statusTemplate: nodeReady } },
  pod("pod-running", "Pending", podRunning),
  // The node controller called it not ready when its node seemed lost; a kubelet would repeat its status (kubernetes:
  // pkg/kubelet/status/status_manager.go, needsReconcile). It keeps its address: KWOK would give a new one, which the
  // API refuses.
  pod("pod-ready-again", "Running", podReady, notReady),
  pod("pod-succeeded", "Running", podSucceeded, [".spec.restartPolicy", "NotIn", ["Always"]]),
  { name: "pod-deleted", kind: "Pod", when: [[".metadata.deletionTimestamp", "Exists"]], next: { delete: true } },
];

function kwokStages(): string {
  const documents = stages.map(({ name, kind, when, next }) => ({
    apiVersion: "kwok.x-k8s.io/v1alpha1",
    kind: "Stage",
    metadata: { name },
    spec: {
      resourceRef: { apiGroup: "v1", kind },
      selector: {
        matchExpressions: when.map(([key, operator, values]) => ({
          key,
          operator,
          ...(values !== undefined && { values }),
        })),
      },
      next,
    },
  }));
  return documents.map((document) => stringify(document)).join("---\n");
}

/** Starts KWOK for the nodes that it keeps alive. Its stages and its log are in the work folder. */
export async function startKwok(program: string, kubeconfigFile: string, workFolder: string): Promise<void> {
  const stages = path.join(workFolder, "kwok.yaml");
  await writeFile(stages, kwokStages());
  // nsenter into one's own namespaces changes nothing, so KWOK runs beside the harness.
  await startInMachine(
    { pid: process.pid },
    [
      program,
      "--kubeconfig",
      kubeconfigFile,
      "--config",
      stages,
      "--manage-all-nodes=false",
      `--manage-nodes-with-label-selector=${kwokSelector}`,
      // Without leases the controller-manager takes the nodes for dead after its grace period of 50 s, and their pods
      // for unready.
      "--node-lease-duration-seconds=40",
    ],
    { logFile: path.join(workFolder, "logs", "kwok.log") },
  );
}
