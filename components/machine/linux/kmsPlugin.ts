import type { ControlPlaneSettings } from "../../model/clusterSpec.ts";
import { kmsFacts, vaultKey } from "../../model/kms.ts";
import type { KmsKey } from "../../model/secretsEncryption.ts";
import type { CloudAccess } from "../cloudAccess.ts";
import type { PayloadFile } from "../payload.ts";
import { unitFile } from "./files.ts";
import { tsvFile } from "./shell.ts";
import { pluginUnit } from "./systemdUnits.ts";

/*
 * The plug-in of the cloud's key service, one service of systemd for each key. No static pod: nobody publishes an image for AWS, the kubelet of a
 * control-plane machine has no rights in a registry, and the API server needs the plug-in to become ready.
 */

/** Below `/run`. */
const folder = "fenestra-kms";
/** Folder of the sockets. */
export const kmsFolder = `/run/${folder}`;
const program = "/usr/local/bin";
const table = "/etc/fenestra/kms.tsv";
const azureConfig = "/etc/fenestra/kms-azure.json";

/** Socket of a key's plug-in. */
export function kmsSocket(name: string): string {
  return `${kmsFolder}/${name}.sock`;
}

const unitName = (name: string): string => `fenestra-kms-${name}.service`;

/** Services of the keys. */
export function kmsUnits({ secretsEncryption: { kms } }: Pick<ControlPlaneSettings, "secretsEncryption">) {
  return kms.map(({ name }) => unitName(name));
}

/** Ports of loopback on AWS, of the machine on Azure, which nothing is allowed to reach; each key has its own. */
const healthPorts = { aws: 8083, azure: 8787 } as const;
const metricsPort = 8095;

/** kubernetes-sigs/aws-encryption-provider, cmd/server/main.go: without the version its health is that of KMS v1. */
function awsCommand({ key, name }: KmsKey, index: number): readonly string[] {
  return [
    `--key=${key}`,
    `--region=${key.split(":")[3] ?? ""}`,
    `--listen=${kmsSocket(name)}`,
    `--health-port=127.0.0.1:${healthPorts.aws + index}`,
    "--health-kms-version=v2",
  ];
}

/** Azure/kubernetes-kms, cmd/server/main.go. A second one ends when it finds the port of the first one's metrics in use. */
function azureCommand({ key: id, name }: KmsKey, index: number): readonly string[] {
  const { vault, key, version } = vaultKey(id);
  return [
    `--keyvault-name=${vault}`,
    `--key-name=${key}`,
    `--key-version=${version}`,
    `--listen-addr=unix://${kmsSocket(name)}`,
    `--config-file-path=${azureConfig}`,
    `--healthz-port=${healthPorts.azure + index}`,
    `--metrics-addr=${metricsPort + index}`,
  ];
}

/** What the stage `kms` depends on: the services, where each one says how it is, and on Azure the identity. None of it is secret. */
export function kmsFiles(
  { cloud, secretsEncryption: { kms } }: Pick<ControlPlaneSettings, "cloud" | "secretsEncryption">,
  access: CloudAccess,
): readonly PayloadFile[] {
  if (kms.length === 0) return [];
  const command = cloud === "aws" ? awsCommand : azureCommand;
  return [
    ...kms.map((key, index) =>
      unitFile(
        unitName(key.name),
        pluginUnit(
          `uses the key ${key.name} of Secrets`,
          [`${program}/${kmsFacts[cloud].program}`, ...command(key, index)].join(" "),
          folder,
        ),
      ),
    ),
    {
      path: table,
      content: tsvFile(kms.map(({ name }, index) => [name, unitName(name), `http://127.0.0.1:${healthPorts[cloud] + index}/healthz`])),
    },
    ...(access.kind === "azure"
      ? [
          {
            path: azureConfig,
            content: `${JSON.stringify({ useManagedIdentityExtension: true, userAssignedIdentityID: access.clientId })}\n`,
          },
        ]
      : []),
  ];
}

/** The program as a line of the machine's list of artifacts. */
export function kmsArtifact({ cloud, secretsEncryption: { kms, plugin } }: Pick<ControlPlaneSettings, "cloud" | "secretsEncryption">) {
  if (kms.length === 0) return undefined;
  if (plugin === undefined) throw new RangeError("keys of a key service need its plug-in");
  return { ...plugin, name: kmsFacts[cloud].program, folder: program };
}
