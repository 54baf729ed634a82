import { randomBytes } from "node:crypto";
import path from "node:path";
import type { V1Container, V1Pod, V1Volume } from "@kubernetes/client-node";
import type { Api } from "../api/client.ts";
import { writeMachineFile } from "../host/machineFiles.ts";
import type { Machine } from "../host/network.ts";
import { type MachineProcess, runInMachine, startInMachine } from "../host/processes.ts";
import { onLinux } from "./windowsKubelet.ts";

/**
 * Fake of what containerd's shim makes of a HostProcess container, for its program's Linux build on a machine whose
 * `C:\` is `/` (microsoft/hcsshim v0.15.0-rc.1: internal/jobcontainers/jobcontainer.go, mounts.go). A mount is below
 * the container's folder. A release that binds files has it at its own path too, and the same folder for every
 * container, each in a silo of its own; Windows Server 2019 has no `bindfltapi.dll` and binds nothing.
 */
interface HostProcess {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where the container's mounts are, with their volumes. */
  readonly links: readonly { readonly at: string; readonly volume: string; readonly subPath: string }[];
}

const variable = "CONTAINER_SANDBOX_MOUNT_POINT";

function hostProcess(
  { command = [], args = [], volumeMounts = [] }: V1Container,
  env: Readonly<Record<string, string>>,
  { binds, id }: { readonly binds: boolean; readonly id: string },
): HostProcess {
  const folder = binds ? "/hpc" : `/hpc/${id}`;
  // The kubelet's part (kubernetes: third_party/forked/golang/expansion), then `replaceWithMountPoint`.
  const expanded = (text: string): string =>
    text
      .replaceAll(/\$\(([\w.-]+)\)/g, (found, name: string) => env[name] ?? found)
      .replaceAll(`%${variable}%`, folder)
      .replaceAll(`$env:${variable}`, folder);
  const links = volumeMounts.flatMap(({ name: volume, mountPath, subPath = "" }) => {
    const at = slashes(onLinux(mountPath.replace(/^\//, "C:/")));
    return [folder + at, ...(binds ? [at] : [])].map((place) => ({ at: place, volume, subPath }));
  });
  return {
    argv: [...command, ...args].map((text) => {
      const filled = onLinux(expanded(text));
      return filled === text ? text : slashes(filled);
    }),
    env: {
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, expanded(value)])),
      [variable]: folder,
    },
    links,
  };
}

const slashes = (text: string): string => text.replaceAll("\\", "/");

/** A container of a pod on a machine, and the program in place of its own. */
interface HostProcessOptions {
  readonly machine: Machine;
  readonly api: Api;
  readonly pod: V1Pod;
  readonly container: V1Container;
  /** Path in the machine. */
  readonly program: string;
  readonly binds: boolean;
  readonly logFile: string;
}

/** Mounts each two of its arguments up to `--`, for the following program alone, and becomes it. */
const inSilo = [
  ...["unshare", "--mount", "bash", "-c"],
  'while [[ $1 != -- ]]; do [[ -f $1 ]] || mkdir -p "$1" "$2" && mkdir -p "$(dirname "$2")" && { [[ -e $2 ]] || touch "$2"; } && mount --bind "$1" "$2" || exit 1; shift 2; done; shift; exec "$@"',
  "silo",
];

/** The folder that an init container makes, by its command. @throws Error for any other command */
function folderOf({ command = [] }: V1Container): string {
  const [, folder] =
    /^powershell\.exe .*New-Item -ItemType Directory -Force -Path (\S+)$/.exec(command.join(" ")) ?? [];
  if (folder === undefined) throw new Error(`the fake of HostProcess pods does not know: ${command.join(" ")}`);
  return slashes(onLinux(folder));
}

export async function startHostProcess(options: HostProcessOptions): Promise<MachineProcess> {
  const { machine, api, pod, container, program, binds, logFile } = options;
  const id = randomBytes(8).toString("hex");
  const env = await environment(api, pod, container);
  const { argv, env: filled, links } = hostProcess(container, env, { binds, id });
  const folder = (volume: string): string => `/var/lib/kubelet/pods/${pod.metadata?.uid}/volumes/${volume}`;
  for (const volume of pod.spec?.volumes ?? [])
    if (links.some((link) => link.volume === volume.name))
      for (const [file, content] of Object.entries(await filesOf(api, pod, volume)))
        await writeMachineFile(machine.pid, `${folder(volume.name)}/${file}`, content);
  const folders = (pod.spec?.initContainers ?? []).map(folderOf);
  if (folders.length > 0) {
    const { code, stderr } = await runInMachine(machine, ["mkdir", "-p", ...folders]);
    if (code !== 0) throw new Error(`${machine.name}: ${folders.join()} could not be made: ${stderr}`);
  }
  const mounts = links.flatMap(({ at, volume, subPath }) => [path.posix.join(folder(volume), subPath), at]);
  return await startInMachine(machine, [...inSilo, ...mounts, "--", program, ...argv.slice(1)], {
    logFile,
    env: filled,
  });
}

/** A container's variables, with those of the API's Service (kubernetes: pkg/kubelet/envvars). */
async function environment(api: Api, pod: V1Pod, { env = [] }: V1Container): Promise<Readonly<Record<string, string>>> {
  const { spec } = await api.core.readNamespacedService({ name: "kubernetes", namespace: "default" });
  const fields: Readonly<Record<string, string | undefined>> = {
    "spec.nodeName": pod.spec?.nodeName,
    "metadata.name": pod.metadata?.name,
    "metadata.namespace": pod.metadata?.namespace,
    "status.hostIP": pod.status?.hostIP,
  };
  return {
    KUBERNETES_SERVICE_HOST: spec?.clusterIP ?? "",
    KUBERNETES_SERVICE_PORT: "443",
    ...Object.fromEntries(
      env.map(({ name, value, valueFrom }) => [name, value ?? fields[valueFrom?.fieldRef?.fieldPath ?? ""] ?? ""]),
    ),
  };
}

async function filesOf(api: Api, pod: V1Pod, volume: V1Volume): Promise<Readonly<Record<string, string>>> {
  const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
  const configMap = async (map: string, items: readonly { key: string; path: string }[] | undefined) => {
    const { data = {} } = await api.core.readNamespacedConfigMap({ name: map, namespace });
    const wanted = items ?? Object.keys(data).map((key) => ({ key, path: key }));
    return Object.fromEntries(wanted.map(({ key, path }) => [path, data[key] ?? ""]));
  };
  const token = async (expirationSeconds: number | undefined, audience: string | undefined) => {
    const { status } = await api.core.createNamespacedServiceAccountToken({
      name: pod.spec?.serviceAccountName ?? "default",
      namespace,
      body: {
        spec: {
          audiences: audience === undefined ? [] : [audience],
          ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
          boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
        },
      },
    });
    return status?.token ?? "";
  };
  if (volume.configMap !== undefined) return await configMap(volume.configMap.name ?? "", volume.configMap.items);
  if (volume.projected === undefined)
    throw new Error(
      `${name}: no volume but of ConfigMaps and tokens is made for a HostProcess container: ${volume.name}`,
    );
  const parts = await Promise.all(
    (volume.projected.sources ?? []).map(async ({ configMap: map, serviceAccountToken: own, downwardAPI }) => {
      if (map !== undefined) return await configMap(map.name ?? "", map.items);
      if (own !== undefined) return { [own.path]: await token(own.expirationSeconds, own.audience) };
      return Object.fromEntries((downwardAPI?.items ?? []).map(({ path }) => [path, namespace]));
    }),
  );
  return Object.assign({}, ...parts);
}
