import type { DecodedUserData } from "../../plan/decode/machine.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { RegisteredNode } from "../checks/check.ts";
import type { BootIdentity } from "../clouds/cloud.ts";
import { apiFor } from "../cluster/api.ts";
import { waitFor } from "../host/processes.ts";
import {
  bootstrapClient,
  type KubeletSettings,
  kubeletSettings,
  type MachineFacts,
  nodeObject,
  registerNode,
} from "./kubelet.ts";
import type { LinuxMachine } from "./linuxMachine.ts";
import { joinWindowsNode, type PinnedImages, windowsBuild } from "./windowsNode.ts";

/** Processors and memory of a size whose name does not tell them: the smallest that Fenestra uses by default. */
const defaultCapacity = { vcpus: 2, memoryGib: 8 };

/** What the registration needs besides the payload. */
export interface Registration {
  readonly machine: SimulatedMachine;
  readonly capacity: { readonly vcpus: number; readonly memoryGib: number } | undefined;
  readonly kubeletVersion: string;
  readonly pinnedImages: PinnedImages;
  /** Keeps the Node as it was at the moment of its registration. */
  readonly record: (node: RegisteredNode) => void;
}

/** Does what the kubelet of a Linux machine does when it is started: asks for a certificate when it has none, registers its node. */
export async function linuxKubelet(
  machine: LinuxMachine,
  argv: readonly string[],
  registration: Registration,
): Promise<void> {
  const settings = await kubeletSettings(argv.slice(1), (file) => machine.readFile(file));
  const present = await machine.readFile(settings.kubeconfigPath).catch(() => undefined);
  const kubeconfig =
    present ??
    (await bootstrapClient(await machine.readFile(settings.bootstrapKubeconfigPath ?? ""), settings.nodeName));
  if (present === undefined) await machine.writeFile(settings.kubeconfigPath, kubeconfig, 0o600);
  // kubeadm's kubeconfig names files of the machine.
  const inlined = await inlineFiles(kubeconfig, (file) => machine.readFile(file));
  await register(
    inlined,
    settings,
    { os: "linux", osImage: "Ubuntu 24.04.4 LTS", kernelVersion: `6.14.0-1017-${registration.machine.cloud}` },
    registration,
  );
}

/** Joins a Windows machine. */
export async function windowsKubelet(
  payload: DecodedUserData,
  identity: BootIdentity,
  readSecret: (name: string) => Promise<string>,
  registration: Registration,
): Promise<void> {
  const { settings, kubeconfig } = await joinWindowsNode(payload, registration.machine, identity, readSecret);
  const build = windowsBuild(registration.machine, registration.pinnedImages);
  await register(
    kubeconfig,
    settings,
    { os: "windows", build, osImage: `Windows Server, build ${build}`, kernelVersion: `${build}.4171` },
    registration,
  );
}

async function register(
  kubeconfig: string,
  settings: KubeletSettings,
  facts: Pick<MachineFacts, "os" | "build" | "osImage" | "kernelVersion">,
  { machine, capacity, kubeletVersion, record }: Registration,
): Promise<void> {
  const api = apiFor(kubeconfig);
  const node = nodeObject(settings, {
    ...facts,
    arch: "amd64",
    address: machine.privateIp,
    ...(capacity ?? defaultCapacity),
    diskGb: machine.volumes.find(({ sizeGib }) => sizeGib !== undefined)?.sizeGib ?? 50,
    kubeletVersion,
  });
  // A kubelet tries again until the API server takes its node.
  let attempts = 0;
  // The answer itself is kept: whoever reads the node later may find it changed by the cloud controller already.
  const { outcome, stored } = await waitFor(
    `node ${settings.nodeName} to be registered`,
    () => {
      attempts += 1;
      return registerNode(api, node);
    },
    { timeoutMs: 120_000, intervalMs: 500 },
  );
  // Where the answer to an earlier attempt was lost, the node that is there is this kubelet's own.
  if (outcome === "updated" && attempts === 1) return;
  record({
    name: settings.nodeName,
    pool: stored.metadata?.labels?.["fenestra.dev/pool"],
    labels: stored.metadata?.labels ?? {},
    taints: (stored.spec?.taints ?? []).map(({ key, value, effect }) => ({
      key,
      effect,
      ...(value === undefined ? {} : { value }),
    })),
  });
}

/** A kubeconfig with the content of the files that it names. */
async function inlineFiles(kubeconfig: string, readFile: (path: string) => Promise<string>): Promise<string> {
  const named = [
    ...kubeconfig.matchAll(/(client-certificate|client-key|certificate-authority)(["']?):\s*["']?(\/[^\s"',}]+)["']?/g),
  ];
  let text = kubeconfig;
  for (const [whole = "", key = "", quote = "", file = ""] of named) {
    text = text.replace(whole, `${key}-data${quote}: ${Buffer.from(await readFile(file)).toString("base64")}`);
  }
  return text;
}
