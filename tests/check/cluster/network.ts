import type { V1Node } from "@kubernetes/client-node";
import type { ExecResult, ProbeStart } from "../../../check/cluster/probe.ts";

/** A start whose commands end as the list says, the last for ever. */
export function fakeStart(results: readonly (ExecResult | Error)[]): ProbeStart & { readonly commands: string[] } {
  const commands: string[] = [];
  return {
    name: "pod linux-a0",
    os: "linux",
    commands,
    run: async (command) => {
      const result = results[Math.min(commands.length, results.length - 1)];
      commands.push(command.join(" "));
      if (result === undefined || result instanceof Error) throw result ?? new Error("no result");
      return result;
    },
  };
}

export function ended(code: number, stdout = "", stderr = ""): ExecResult {
  return { code, stdout, stderr };
}

interface NodeParts {
  /** Makes it a Windows node. */
  readonly build?: string | undefined;
  readonly simulated?: boolean;
  readonly controlPlane?: boolean;
  readonly kubelet?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A Ready node. */
export function node(
  name: string,
  { build, simulated, controlPlane, kubelet = "v1.36.3", labels }: NodeParts = {},
): V1Node {
  const isWindows = build !== undefined;
  const os = isWindows ? "windows" : "linux";
  const nothing = { architecture: "", bootID: "", kubeProxyVersion: "", machineID: "", osImage: "", systemUUID: "" };
  return {
    metadata: {
      name,
      labels: {
        ...{ "kubernetes.io/os": os, "kubernetes.io/arch": "amd64" },
        ...(isWindows && { "node.kubernetes.io/windows-build": build }),
        ...(controlPlane && { "node-role.kubernetes.io/control-plane": "" }),
        ...labels,
      },
      annotations: {
        ...(simulated && { "kwok.x-k8s.io/node": "fake" }),
        ...(isWindows && { "fenestra.dev/beat": "2026-11-27T01:00:00Z" }),
      },
    },
    spec: {
      providerID: `aws:///eu-central-1a/${name}`,
      ...(isWindows && { taints: [{ key: "os", value: "windows", effect: "NoSchedule" }] }),
    },
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      addresses: [{ type: "InternalIP", address: `10.0.0.${name.length}` }],
      nodeInfo: {
        ...{ ...nothing, containerRuntimeVersion: "containerd://2.3.0", operatingSystem: os, kubeletVersion: kubelet },
        kernelVersion: isWindows ? `${build}.4171` : "6.14.0",
      },
    },
  };
}
