import { z } from "zod";
import { windowsBuilds } from "../../check/facts.ts";
import { type DecodedUserData, fileContent } from "../../plan/decode/userData.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { limitsMs } from "../host/command.ts";
import type { Hardware } from "../host/hardware.ts";
import { waitFor } from "../host/processes.ts";

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
export interface WindowsRelease {
  readonly year: string;
  readonly build: string;
}

/** Release that a machine boots into, by its image alone. */
export function windowsRelease(machine: SimulatedMachine, pinned: PinnedImages): WindowsRelease {
  const year = windowsYear(machine.image) ?? pinned.get(machine.image) ?? "";
  const build = windowsBuilds[year];
  if (build === undefined)
    throw new Error(`the image ${machine.image} of ${machine.name} is no Windows Server that the rehearsal knows`);
  return { year, build };
}

/** What a Windows machine joins with, besides its payload. */
export interface WindowsIdentity {
  readonly machine: SimulatedMachine;
  readonly hardware: Hardware;
  readonly identity: BootIdentity;
  readonly readSecret: (name: string, clientId?: string) => Promise<string>;
  readonly pinnedImages: PinnedImages;
}

/** A payload as the stages leave it when the kubelet starts. PowerShell itself does not run here. */
export interface JoinedPayload {
  readonly kubeletArguments: readonly string[];
  /** Files below `C:\\`, with what the join stage fills in or writes. */
  readonly files: readonly { readonly path: string; readonly content: string }[];
}

/**
 * Does what the join stage of a Windows machine does (components/machine/windows/scripts/read-join-secret.ps1): reads the
 * join secret by the machine's identity, and puts values known at boot into the payload's files.
 */
export async function joinPayload(
  payload: DecodedUserData,
  { machine, identity, readSecret }: WindowsIdentity,
): Promise<JoinedPayload> {
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
  const fill = (text: string): string =>
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
