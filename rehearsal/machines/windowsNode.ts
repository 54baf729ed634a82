import { z } from "zod";
import { type DecodedUserData, fileContent } from "../../plan/decode/machine.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { BootIdentity } from "../clouds/cloud.ts";
import { apiFor } from "../cluster/api.ts";
import { windowsBuilds } from "../cluster/facts.ts";
import type { Hardware } from "../host/hardware.ts";
import { waitFor } from "../host/processes.ts";
import { bootstrapClient, type KubeletSettings, kubeletSettings, nodeObject, registerNode } from "./windowsKubelet.ts";

/** The part of `machine.json` that the simulated kubelet needs; everything else in it is for the scripts. */
const machineSchema = z.looseObject({
  kubelet: z.looseObject({ arguments: z.array(z.string()) }),
  cloud: z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("aws"), joinSecret: z.string() }),
    z.looseObject({ kind: z.literal("azure"), joinVault: z.string(), joinSecret: z.string() }),
  ]),
  paths: z.looseObject({ bootstrapKubeconfig: z.string(), kubeconfigTemplate: z.string() }),
});

const joinSecretSchema = z.looseObject({
  server: z.string(),
  caCertificate: z.string(),
  token: z.string(),
  expires: z.string(),
});

/** Longest wait for a join secret, in milliseconds. */
const joinLimitMs = 120_000;

/** Year of a Windows Server image: from the name of the public parameter or the Marketplace SKU; a pinned id tells none. */
function windowsYear(image: string): string | undefined {
  return /(?:Windows_Server-|:)(20(?:19|22|25))/i.exec(image)?.[1];
}

/** Years of pinned images by their id: a rehearsal has no cloud to ask what an id stands for, so it believes the stack file. */
export type PinnedImages = ReadonlyMap<string, string>;

/** Build that a machine boots into, which its image decides and nothing else. */
function windowsBuild(machine: SimulatedMachine, pinned: PinnedImages): string {
  const build = windowsBuilds[windowsYear(machine.image) ?? pinned.get(machine.image) ?? ""];
  if (build === undefined)
    throw new Error(`the image ${machine.image} of ${machine.name} is no Windows Server that the rehearsal knows`);
  return build;
}

function readMachine(payload: DecodedUserData) {
  return machineSchema.parse(JSON.parse(fileContent(payload, "C:\\fenestra\\machine.json")));
}

/** What a Windows machine is joined with, besides its payload. */
export interface WindowsMachine {
  readonly machine: SimulatedMachine;
  readonly hardware: Hardware;
  readonly identity: BootIdentity;
  /** Reads a secret by the machine's identity. */
  readonly readSecret: (name: string) => Promise<string>;
  readonly pinnedImages: PinnedImages;
  /** Release of the kubelet, `v1.36.4`. */
  readonly kubeletVersion: string;
}

/** Joins a Windows machine and registers its node. */
export async function startWindowsNode(payload: DecodedUserData, options: WindowsMachine): Promise<void> {
  const { machine, hardware, kubeletVersion } = options;
  const { settings, kubeconfig } = await joinWindowsNode(payload, options);
  const build = windowsBuild(machine, options.pinnedImages);
  const node = nodeObject(settings, {
    os: "windows",
    arch: "amd64",
    build,
    osImage: `Windows Server, build ${build}`,
    kernelVersion: `${build}.4171`,
    address: machine.privateIp,
    ...hardware,
    kubeletVersion,
  });
  const api = apiFor(kubeconfig);
  // A kubelet tries again until the API server takes its node.
  await waitFor(`node ${settings.nodeName} to be registered`, () => registerNode(api, node), {
    timeoutMs: 120_000,
    intervalMs: 500,
  });
}

/** A joined Windows machine. */
interface JoinedNode {
  readonly settings: KubeletSettings;
  /** Kubeconfig with the certificate that the controller-manager signed. */
  readonly kubeconfig: string;
}

/**
 * Joins a Windows machine as its scripts and kubelet would: values known at boot are put into the payload's files, the join secret is read by
 * the machine's identity, a certificate is requested with its token. PowerShell itself does not run here.
 */
async function joinWindowsNode(
  payload: DecodedUserData,
  { machine, identity, readSecret }: WindowsMachine,
): Promise<JoinedNode> {
  const { kubelet, paths, cloud } = readMachine(payload);
  const joinSecret = cloud.kind === "aws" ? cloud.joinSecret : `${cloud.joinVault}/secrets/${cloud.joinSecret}`;
  const secret = await waitFor(
    `${machine.name} to find a fresh join secret`,
    async () => freshSecret(await readSecret(joinSecret)),
    {
      timeoutMs: joinLimitMs,
      intervalMs: 500,
    },
  );
  const values: Readonly<Record<string, string>> = {
    "@NODE_NAME@": identity.nodeName,
    "@PROVIDER_ID@": identity.providerId,
    "@NODE_IP@": machine.privateIp,
    "@API_SERVER@": secret.server,
    "@CA_DATA@": Buffer.from(secret.caCertificate).toString("base64"),
    "@TOKEN@": secret.token,
  };
  const fill = (text: string): string =>
    Object.entries(values).reduce((filled, [mark, value]) => filled.replaceAll(mark, value), text);
  const readFile = async (path: string): Promise<string> => fill(fileContent(payload, windowsPath(path)));
  const settings = await kubeletSettings(kubelet.arguments.map(fill), readFile);
  // The join stage writes this file from the template; a kubelet that is told another one would find nothing.
  if (
    settings.bootstrapKubeconfigPath === undefined ||
    windowsPath(settings.bootstrapKubeconfigPath) !== paths.bootstrapKubeconfig
  ) {
    throw new Error(
      `the kubelet looks for ${settings.bootstrapKubeconfigPath}, the join stage writes ${paths.bootstrapKubeconfig}`,
    );
  }
  return { settings, kubeconfig: await bootstrapClient(await readFile(paths.kubeconfigTemplate), settings.nodeName) };
}

/** The join secret when one was published that has not expired; a machine waits for it, as its scripts do. */
function freshSecret(text: string): z.output<typeof joinSecretSchema> {
  if (!text.startsWith("{")) throw new Error("no join secret was published yet");
  const secret = joinSecretSchema.parse(JSON.parse(text));
  if (Date.parse(secret.expires) <= Date.now()) throw new Error(`the join secret has expired at ${secret.expires}`);
  return secret;
}

/** The kubelet takes paths with either separator. */
function windowsPath(path: string): string {
  return path.replaceAll("/", "\\");
}
