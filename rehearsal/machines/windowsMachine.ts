import { readFile } from "node:fs/promises";
import { z } from "zod";
import { windowsBuilds } from "../../check/facts.ts";
import { type DecodedUserData, fileContent } from "../../plan/decode/userData.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { Api } from "../api/client.ts";
import { limitsMs } from "../host/command.ts";
import { createMachineRoot, hardwareOf, writeMachineFile } from "../host/machineRoot.ts";
import type { Machine } from "../host/network.ts";
import { type MachineProcess, startInMachine, waitFor } from "../host/processes.ts";
import { containerFolder, programFolder } from "../host/rootScripts.ts";
import { giveToKwok } from "./kwok.ts";
import { addMachine, type Surroundings } from "./linuxMachine.ts";
import { refusal } from "./logs.ts";
import { linuxBuildDropIn, windowsDropInFolder, windowsRuntimeSocket } from "./overrides.ts";

interface WindowsMachineOptions extends WindowsIdentity {
  /** Path of the kubelet's Linux build. */
  readonly kubelet: string;
  /** Folder of the programs that run containers. */
  readonly containers: string;
  readonly around: Surroundings;
  readonly workFolder: string;
  /** The administrator's, for what comes after the kubelet. */
  readonly api: Api;
  /** File for the kubelet's log. */
  readonly logFile: string;
  /** When its power comes on. */
  readonly begin: Promise<void>;
}

/**
 * Starts a Windows machine's kubelet, by its Linux build, from its payload and waits until it has registered its node
 * and asked for its serving certificate. Then it ends, since it would run no pod of Windows, and KWOK goes on with the
 * node.
 */
export async function startWindowsMachine(payload: DecodedUserData, options: WindowsMachineOptions): Promise<void> {
  const { around, identity } = options;
  const name = identity.nodeName;
  const machine = await addMachine(around, name, options.machine.privateIp);
  const release = windowsRelease(options.machine, options.pinnedImages);
  try {
    await createMachineRoot(machine, {
      workFolder: options.workFolder,
      hosts: [`${machine.address} ${name}`, ...around.hosts(machine.address)],
      hardware: hardwareOf(options.machine),
      programs: { containers: options.containers, kubelet: options.kubelet },
    });
    await options.begin;
    const kubelet = await startKubelet(machine, await joinPayload(payload, options), release, options.logFile);
    await untilRegistered(kubelet, options);
    await kubelet.stop(1_000);
  } finally {
    await machine.destroy();
  }
  await handOver(options);
}

/** @throws Error with the kubelet's own reason when it ends before */
async function untilRegistered(
  kubelet: MachineProcess,
  { identity, api, logFile }: WindowsMachineOptions,
): Promise<void> {
  const name = identity.nodeName;
  const look = async (): Promise<boolean> => {
    if (kubelet.exitCode() !== undefined) return true;
    const asked = (await api.certificates.listCertificateSigningRequest()).items.some(
      ({ spec }) => spec.signerName === "kubernetes.io/kubelet-serving" && spec.username === `system:node:${name}`,
    );
    if (!asked) throw new Error("it has not asked for a serving certificate");
    return (await api.core.readNode({ name })).metadata !== undefined;
  };
  await waitFor(`the kubelet to register ${name}`, limitsMs.machine / 2, look);
  if (kubelet.exitCode() === undefined) return;
  const log = await readFile(logFile, "utf8");
  const reason = refusal(log) ?? log.trimEnd().split("\n").at(-1) ?? "";
  throw new Error(`the kubelet has ended with exit code ${kubelet.exitCode()}: ${reason}`);
}

/**
 * Leaves the node to KWOK: with a lease that nobody holds, with the disk, which a kubelet without pods does not
 * measure, and with its system: another one's kubelet has registered it, which writes its own into the label with each
 * status (kubernetes: pkg/kubelet/kubelet_node_status.go, updateNode). Pods that came for that system go first.
 */
async function handOver(options: WindowsMachineOptions): Promise<void> {
  const { identity, machine, api } = options;
  const name = identity.nodeName;
  const { year, build } = windowsRelease(machine, options.pinnedImages);
  await api.coordination.deleteNamespacedLease({ name, namespace: "kube-node-lease" }).catch(() => undefined);
  const disk = { "ephemeral-storage": `${hardwareOf(machine).diskGib}Gi` };
  const system = {
    operatingSystem: "windows",
    osImage: `Windows Server ${year} Datacenter`,
    kernelVersion: `${build}.0`,
  };
  const complete = async () => {
    const node = await api.core.readNode({ name });
    const { status } = node;
    const capacity = { ...status?.capacity, ...disk };
    const allocatable = { ...status?.allocatable, ...disk };
    const nodeInfo = status?.nodeInfo;
    const own = nodeInfo !== undefined ? { nodeInfo: { ...nodeInfo, ...system } } : {};
    return await api.core.replaceNodeStatus({
      name,
      body: { ...node, status: { ...status, capacity, allocatable, ...own } },
    });
  };
  await waitFor(`node ${name} to have a disk`, limitsMs.change, complete);
  await giveToKwok(api, name, systemLabels);
  const cleared = async (): Promise<boolean> => {
    const { items } = await api.core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${name}` });
    const ofLinux = items.filter(({ spec }) => spec?.nodeSelector?.["kubernetes.io/os"] === "linux");
    for (const { metadata } of ofLinux)
      await api.core.deleteNamespacedPod({
        ...{ name: metadata?.name ?? "", namespace: metadata?.namespace ?? "" },
        gracePeriodSeconds: 0,
      });
    return ofLinux.length === 0;
  };
  await waitFor(`pods of Linux to leave ${name}`, limitsMs.change, cleared);
}

/** Labels by which a kubelet tells its system. */
const systemLabels = { "kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64" };

/** Runs a command once the runtime listens, as the service does on which a kubelet depends. */
const afterRuntime = `${containerFolder}/windows-runtime ${windowsRuntimeSocket} &
until [ -S ${windowsRuntimeSocket} ]; do sleep 0.05; done
exec "$0" "$@"`;

/**
 * Starts the kubelet's Linux build in place of kubelet.exe, with the payload's files below `/` instead of `C:\`.
 * What a kubelet finds out about its system is given as labels, which win (kubernetes:
 * pkg/kubelet/kubelet_node_status.go, initialNode).
 */
async function startKubelet(
  machine: Machine,
  joined: Awaited<ReturnType<typeof joinPayload>>,
  release: WindowsRelease,
  logFile: string,
): Promise<MachineProcess> {
  const added = Object.entries(linuxBuildDropIn()).map(([file, content]) => ({ path: file, content }));
  for (const { path: file, content } of [...joined.files, ...added])
    await writeMachineFile(machine.pid, onLinux(file), onLinux(content));
  const labels = { ...systemLabels, "node.kubernetes.io/windows-build": release.build };
  const found = Object.entries(labels).map((pair) => `${pair.join("=")},`);
  const flags = joined.kubeletArguments
    .filter((flag) => !flag.startsWith("--windows-"))
    .map((flag) => onLinux(flag).replace(/^--node-labels=/, `$&${found.join("")}`));
  const argv = [`${programFolder}/kubelet`, ...flags, `--config-dir=${onLinux(windowsDropInFolder)}`];
  return await startInMachine(machine, ["bash", "-c", afterRuntime, ...argv], { logFile });
}

/** A text with the paths of `C:\` that a kubelet reads as a Linux machine's. */
function onLinux(text: string): string {
  return text.replaceAll(/\bC:[\\/][\w.\\/-]*/g, (found) => found.slice(2).replaceAll(/\\+/g, "/"));
}

/** What a machine learns from its cloud at boot. */
export interface BootIdentity {
  readonly nodeName: string;
  readonly providerId: string;
}

/** The part of `machine.json` that the simulated kubelet needs; the rest is for the scripts. */
const machineSchema = z.looseObject({
  kubelet: z.looseObject({ arguments: z.array(z.string()) }),
  cloud: z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("aws"), joinSecret: z.string() }),
    z.looseObject({ kind: z.literal("azure"), clientId: z.string(), joinVault: z.string(), joinSecret: z.string() }),
  ]),
  paths: z.looseObject({ bootstrapKubeconfig: z.string(), kubeconfigTemplate: z.string(), clusterCa: z.string() }),
  stages: z.array(z.looseObject({ name: z.string(), fills: z.array(z.string()).optional() })),
});

const joinSecretSchema = z.looseObject({
  server: z.string(),
  caCertificate: z.string(),
  token: z.string(),
  expires: z.string(),
});

/** Year of a Windows Server image, by its public parameter or Marketplace SKU; a pinned id tells none. */
function windowsYear(image: string): string | undefined {
  return /(?:Windows_Server-|:)(20(?:19|22|25))/i.exec(image)?.[1];
}

/** Years of pinned images by id, as the stack file tells them: no cloud can be asked here. */
export type PinnedImages = ReadonlyMap<string, string>;

/** Release of Windows Server: `2022`, `10.0.20348`. */
interface WindowsRelease {
  readonly year: string;
  readonly build: string;
}

/** Release that a machine boots into, by its image alone. */
function windowsRelease(machine: SimulatedMachine, pinned: PinnedImages): WindowsRelease {
  const year = windowsYear(machine.image) ?? pinned.get(machine.image) ?? "";
  const build = windowsBuilds[year];
  if (build === undefined)
    throw new Error(`the image ${machine.image} of ${machine.name} is no Windows Server that the rehearsal knows`);
  return { year, build };
}

/** What a Windows machine joins with, besides its payload. */
interface WindowsIdentity {
  readonly machine: SimulatedMachine;
  readonly identity: BootIdentity;
  readonly readSecret: (name: string, clientId?: string) => Promise<string>;
  readonly pinnedImages: PinnedImages;
}

/**
 * Does what the join stage of a Windows machine does (components/machine/windows/scripts/read-join-secret.ps1): reads the
 * join secret by the machine's identity, and puts values known at boot into the payload's files. PowerShell itself does
 * not run here.
 * @returns files below `C:\\`, and the kubelet's arguments
 */
async function joinPayload(payload: DecodedUserData, { machine, identity, readSecret }: WindowsIdentity) {
  const { kubelet, paths, cloud, stages } = machineSchema.parse(
    JSON.parse(fileContent(payload, "C:\\fenestra\\machine.json")),
  );
  // In Azure a machine with accounts of Active Directory has another identity beside its own.
  const { joinSecret, clientId } =
    cloud.kind === "aws"
      ? { joinSecret: cloud.joinSecret, clientId: undefined }
      : { joinSecret: `${cloud.joinVault}/secrets/${cloud.joinSecret}`, clientId: cloud.clientId };
  const secret = await waitFor(`${machine.name} to find a fresh join secret`, limitsMs.machine / 2, async () =>
    freshSecret(await readSecret(joinSecret, clientId)),
  );
  const values: Readonly<Record<string, string>> = {
    "@NODE_NAME@": identity.nodeName,
    "@PROVIDER_ID@": identity.providerId,
    "@NODE_IP@": machine.privateIp,
    "@API_SERVER@": secret.server,
    "@CA_DATA@": Buffer.from(secret.caCertificate).toString("base64"),
    "@TOKEN@": secret.token,
  };
  const fill = (text: string) =>
    Object.entries(values).reduce((filled, [mark, value]) => filled.replaceAll(mark, value), text);
  const filled = stages.flatMap(({ fills }) => fills ?? []);
  return {
    kubeletArguments: kubelet.arguments.map(fill),
    files: [
      ...payload.files.map(({ path, content }) => ({ path, content: filled.includes(path) ? fill(content) : content })),
      { path: paths.bootstrapKubeconfig, content: fill(fileContent(payload, paths.kubeconfigTemplate)) },
      { path: paths.clusterCa, content: secret.caCertificate },
    ],
  };
}

/** A published join secret that has not expired; machines wait for it, as their scripts do. */
function freshSecret(text: string): z.output<typeof joinSecretSchema> {
  if (!text.startsWith("{")) throw new Error("no join secret was published yet");
  const secret = joinSecretSchema.parse(JSON.parse(text));
  if (Date.parse(secret.expires) <= Date.now()) throw new Error(`the join secret has expired at ${secret.expires}`);
  return secret;
}
