import type { V1Node, V1Taint } from "@kubernetes/client-node";
import { parse } from "yaml";
import { z } from "zod";
import { statusOf } from "../../checks/cluster/api.ts";
import { newCertificateRequest } from "../../plan/fakes/certificates.ts";
import { type Api, apiFor, kubeconfig } from "../cluster/api.ts";
import { waitFor } from "../host/processes.ts";

/** The part of KubeletConfiguration that decides what a kubelet registers. */
const configSchema = z.looseObject({
  registerWithTaints: z
    .array(z.strictObject({ key: z.string(), value: z.string().optional(), effect: z.string() }))
    .default([]),
  registerNode: z.boolean().default(true),
  providerID: z.string().optional(),
  kubeReserved: z.record(z.string(), z.string()).default({}),
  systemReserved: z.record(z.string(), z.string()).default({}),
  evictionHard: z.record(z.string(), z.string()).default({}),
  serverTLSBootstrap: z.boolean().default(false),
  maxPods: z.int().default(110),
});

/** What the machine itself is, which no configuration can change. */
export interface MachineFacts {
  readonly os: "linux" | "windows";
  readonly arch: "amd64" | "arm64";
  /** `10.0.20348` on Windows. */
  readonly build?: string;
  readonly osImage: string;
  readonly kernelVersion: string;
  readonly address: string;
  readonly vcpus: number;
  readonly memoryGib: number;
  readonly diskGib: number;
  /** Release of the kubelet, `v1.36.4`. */
  readonly kubeletVersion: string;
}

/** What a kubelet was told, read from its command line and configuration file. */
export interface KubeletSettings {
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly V1Taint[];
  readonly providerId: string | undefined;
  readonly serverTlsBootstrap: boolean;
  readonly reserved: readonly Readonly<Record<string, string>>[];
  readonly maxPods: number;
  /** Path of the kubeconfig, and of the one for the first start. */
  readonly kubeconfigPath: string;
  readonly bootstrapKubeconfigPath: string | undefined;
}

/** The flags of a command line: `--name=value`, `--name value`, or `--name` alone, which counts as true. */
export function parseFlags(args: readonly string[]): ReadonlyMap<string, string> {
  const flags = new Map<string, string>();
  for (const [index, arg] of args.entries()) {
    const match = /^--?([a-z][a-z0-9-]*)(?:=(.*))?$/s.exec(arg);
    if (match?.[1] === undefined) continue;
    const next = args[index + 1];
    flags.set(match[1], match[2] ?? (next === undefined || next.startsWith("-") ? "true" : next));
  }
  return flags;
}

/**
 * Reads what a kubelet would read. `readFile` gives a file of the machine. Throws with the reason where a real kubelet would not start.
 */
export async function kubeletSettings(
  args: readonly string[],
  readFile: (path: string) => Promise<string>,
): Promise<KubeletSettings> {
  const flags = parseFlags(args);
  const need = (name: string): string => {
    const value = flags.get(name);
    if (value === undefined || value === "") throw new Error(`kubelet has no --${name}`);
    return value;
  };
  const document: unknown = parse(await readFile(need("config")));
  const config = configSchema.parse(document);
  const labels = Object.fromEntries(
    (flags.get("node-labels") ?? "")
      .split(",")
      .filter((pair) => pair !== "")
      .map((pair) => {
        const [name = "", ...value] = pair.split("=");
        return [name, value.join("=")];
      }),
  );
  const taints = config.registerWithTaints.map(({ key, value, effect }) => ({
    key,
    effect,
    ...(value === undefined ? {} : { value }),
  }));
  // Appended without a look at the list: pkg/kubelet/kubelet_node_status.go, `initialNode` (1.35 to 1.37). The API server refuses a second one.
  const external: V1Taint = {
    key: "node.cloudprovider.kubernetes.io/uninitialized",
    value: "true",
    effect: "NoSchedule",
  };
  return {
    nodeName: need("hostname-override"),
    labels,
    taints: flags.get("cloud-provider") === "external" ? [...taints, external] : taints,
    providerId: config.providerID,
    serverTlsBootstrap: config.serverTLSBootstrap,
    reserved: [config.kubeReserved, config.systemReserved, { memory: config.evictionHard["memory.available"] ?? "0" }],
    maxPods: config.maxPods,
    kubeconfigPath: need("kubeconfig"),
    bootstrapKubeconfigPath: flags.get("bootstrap-kubeconfig"),
  };
}

/** Asks for a client certificate with a bootstrap kubeconfig, as a kubelet does, and returns the kubeconfig that results. */
export async function bootstrapClient(
  bootstrapKubeconfig: string,
  nodeName: string,
  timeoutMs = 60_000,
): Promise<string> {
  const document: unknown = parse(bootstrapKubeconfig);
  const { clusters } = z
    .looseObject({
      clusters: z
        .array(
          z.looseObject({ cluster: z.looseObject({ server: z.string(), "certificate-authority-data": z.string() }) }),
        )
        .min(1),
    })
    .parse(document);
  const cluster = clusters[0]?.cluster;
  if (cluster === undefined) throw new Error("the bootstrap kubeconfig has no cluster");
  const { certificates } = apiFor(bootstrapKubeconfig);
  const request = newCertificateRequest({ commonName: `system:node:${nodeName}`, organization: "system:nodes" });
  // A kubelet asks again until somebody answers: an API server may go away in between.
  const created = await waitFor(
    `the API to take the certificate request of ${nodeName}`,
    () =>
      certificates.createCertificateSigningRequest({
        body: {
          apiVersion: "certificates.k8s.io/v1",
          kind: "CertificateSigningRequest",
          metadata: { generateName: "node-csr-" },
          spec: {
            request: Buffer.from(request.request).toString("base64"),
            signerName: "kubernetes.io/kube-apiserver-client-kubelet",
            usages: ["digital signature", "client auth"],
          },
        },
      }),
    { timeoutMs, intervalMs: 500 },
  );
  const name = created.metadata?.name ?? "";
  const certificate = await waitFor(
    `the controller-manager to sign the certificate request of ${nodeName}`,
    async () => (await certificates.readCertificateSigningRequest({ name })).status?.certificate,
    { timeoutMs, intervalMs: 100 },
  );
  return kubeconfig({
    server: cluster.server,
    ca: Buffer.from(cluster["certificate-authority-data"], "base64").toString(),
    user: { certificate: Buffer.from(certificate, "base64").toString(), key: request.key },
  });
}

/** The Node that a kubelet with these settings creates on this machine. */
export function nodeObject(settings: KubeletSettings, facts: MachineFacts): V1Node {
  const capacity = {
    cpu: String(facts.vcpus),
    memory: `${Math.floor(facts.memoryGib * 1024)}Mi`,
    pods: String(settings.maxPods),
    "ephemeral-storage": `${facts.diskGib}Gi`,
  };
  const memoryMib = facts.memoryGib * 1024 - settings.reserved.reduce((sum, { memory }) => sum + mebibytes(memory), 0);
  const millicpus = facts.vcpus * 1000 - settings.reserved.reduce((sum, { cpu }) => sum + millicores(cpu), 0);
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: settings.nodeName,
      labels: {
        "kubernetes.io/os": facts.os,
        "kubernetes.io/arch": facts.arch,
        "kubernetes.io/hostname": settings.nodeName.toLowerCase(),
        ...(facts.build === undefined ? {} : { "node.kubernetes.io/windows-build": facts.build }),
        ...settings.labels,
      },
    },
    spec: {
      taints: [...settings.taints],
      ...(settings.providerId === undefined ? {} : { providerID: settings.providerId }),
    },
    status: {
      addresses: [
        { type: "InternalIP", address: facts.address },
        { type: "Hostname", address: settings.nodeName },
      ],
      capacity,
      allocatable: { ...capacity, cpu: `${millicpus}m`, memory: `${Math.floor(memoryMib)}Mi` },
      nodeInfo: {
        architecture: facts.arch,
        bootID: "",
        containerRuntimeVersion: "containerd://2.3.4",
        kernelVersion: facts.kernelVersion,
        kubeProxyVersion: "",
        kubeletVersion: facts.kubeletVersion,
        machineID: "",
        operatingSystem: facts.os,
        osImage: facts.osImage,
        systemUUID: "",
      },
    },
  };
}

function mebibytes(quantity: string | undefined): number {
  const match = /^(\d+(?:\.\d+)?)(Ki|Mi|Gi)?$/.exec(quantity ?? "0");
  if (match === null) return 0;
  const factor = match[2] === "Gi" ? 1024 : match[2] === "Mi" ? 1 : match[2] === "Ki" ? 1 / 1024 : 1 / 1024 ** 2;
  return Number(match[1]) * factor;
}

function millicores(quantity: string | undefined): number {
  const text = quantity ?? "0";
  return text.endsWith("m") ? Number(text.slice(0, -1)) : Number(text) * 1000;
}

/**
 * Registers the node with the kubelet's own certificate, so that NodeRestriction applies. A node that exists already keeps its taints, as
 * with a real kubelet; labels are brought up to date.
 */
export async function registerNode(
  { core }: Api,
  node: V1Node,
): Promise<{ readonly outcome: "created" | "updated"; readonly stored: V1Node }> {
  try {
    return { outcome: "created", stored: await core.createNode({ body: node }) };
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
  }
  const name = node.metadata?.name ?? "";
  const present = await core.readNode({ name });
  const stored = await core.replaceNode({
    name,
    body: {
      ...present,
      metadata: { ...present.metadata, labels: { ...present.metadata?.labels, ...node.metadata?.labels } },
    },
  });
  return { outcome: "updated", stored };
}
