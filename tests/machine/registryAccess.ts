import { linuxWorkerPayload } from "../../components/machine/linux/worker.ts";
import type { MachinePayload } from "../../components/machine/payload.ts";
import { windowsWorkerPayload } from "../../components/machine/windows/worker.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { specOf } from "../support/mocks.ts";
import { exampleAccess, linuxPool, windowsPool } from "./examples.ts";

export const repository = "arn:aws:ecr:eu-central-1:123456789012:repository/team/*";
export const registry =
  "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shared/providers/Microsoft.ContainerRegistry/registries/example";
const access = { aws: { resources: [repository] }, azure: { resources: [registry] } } as const;

export const specs = {
  aws: specOf("aws-prod", { registryAccess: access.aws }),
  azure: specOf("azure-prod", { registryAccess: access.azure }),
};

/** What a worker of a system gets. */
export function payloadOf(
  cloud: "aws" | "azure",
  os: "linux" | "windows",
  spec: ClusterSpec = specs[cloud],
): MachinePayload {
  const access = { ...exampleAccess(spec, "pool"), tenantId: "tenant" };
  return os === "linux"
    ? linuxWorkerPayload({ spec, pool: linuxPool(spec), access })
    : windowsWorkerPayload({ spec, pool: windowsPool(spec), access });
}

export const paths = {
  linux: {
    config: "/etc/fenestra/credential-providers.yaml",
    bin: "/usr/local/libexec/fenestra/credential-providers",
    cloud: "/etc/fenestra/registry-cloud.json",
  },
  windows: {
    config: "C:\\etc\\kubernetes\\credential-providers.yaml",
    bin: "C:\\fenestra\\credential-providers",
    cloud: "C:\\etc\\kubernetes\\registry-cloud.json",
  },
};
