import assert from "node:assert/strict";
import { loadConfig } from "../../components/config/load.ts";
import type { CloudAccess, ControlPlaneAccess, PoolAccess } from "../../components/machine/cloudAccess.ts";
import { controlPlanePayload } from "../../components/machine/linux/controlPlane.ts";
import { linuxWorkerPayload } from "../../components/machine/linux/worker.ts";
import type { MachinePayload, WorkerPayload } from "../../components/machine/payload.ts";
import { bakeData } from "../../components/machine/windows/bake.ts";
import { windowsWorkerPayload } from "../../components/machine/windows/worker.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";
import { windowsReleases } from "../../components/model/operatingSystems.ts";
import type { WindowsPool } from "../../components/model/pools.ts";
import { minorOf, minors, selectableVersions } from "../../components/model/releases.ts";
import { specOf } from "../support/mocks.ts";
import { configTexts, exampleSpec, stackConfig } from "../support/stacks.ts";

const selectable = selectableVersions(readArtifactLock());
/** The newest release of each minor whose programs are in the lock file. */
export const exampleReleases = minors.flatMap(({ minor }) =>
  selectable.filter((version) => minorOf(version) === minor).slice(-1),
);

/** The production stack of a cloud at another release. */
export function specAt(cloud: "aws" | "azure", version: string) {
  const config = loadConfig(stackConfig(`${cloud}-prod`));
  return clusterSpec({ ...config, kubernetes: { ...config.kubernetes, version } });
}

/** A bucket's name, of the length that a cloud gives it. */
export const scriptsBucket = "aws-prod-scripts-bucket-0123abc";

/** Access with names of the length that a cloud gives them. */
function exampleCloud(spec: ClusterSpec): CloudAccess {
  return spec.cloud === "aws"
    ? {
        kind: "aws",
        region: spec.region,
        joinSecret: `/fenestra/${spec.name}/join`,
        secretsKey: `arn:aws:kms:${spec.region}:123456789012:key/01234567-89ab-cdef-0123-456789abcdef`,
      }
    : {
        kind: "azure",
        region: spec.region,
        subscriptionId: "01234567-89ab-cdef-0123-456789abcdef",
        resourceGroup: `${spec.name}-rg`,
        clientId: "11111111-2222-3333-4444-555555555555",
        joinVault: `https://${spec.name}-join-ab12cd.vault.azure.net`,
        joinSecret: "join",
      };
}

export function exampleAccess(spec: ClusterSpec, pool: string): PoolAccess {
  const lifecycle = { group: `${spec.name}-${pool}`, launchHook: "launch", terminateHook: "terminate" };
  return { cloud: exampleCloud(spec), ...(spec.cloud === "aws" && { lifecycle }) };
}

function exampleControlPlaneAccess(spec: ClusterSpec): ControlPlaneAccess {
  const aws = spec.cloud === "aws";
  const name = (role: string): string => (aws ? `/fenestra/${spec.name}/${role}` : role);
  return {
    cloud: exampleCloud(spec),
    secrets: {
      kubernetesCa: name("kubernetes-ca"),
      etcdCa: name("etcd-ca"),
      frontProxyCa: name("front-proxy-ca"),
      serviceAccount: name("service-account"),
      encryptionKey: name("encryption-key"),
      initialised: name("initialised"),
    },
    ...(!aws && { caVault: `https://${spec.name}-ca-ab12cd.vault.azure.net` }),
    etcdDevice: aws
      ? "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0"
      : "/dev/disk/azure/data/by-lun/0 /dev/disk/azure/scsi1/lun0",
    snapshots: {
      target: aws
        ? `${spec.name}-etcd-123456789012`
        : `https://${spec.name.replaceAll("-", "")}etcdab12cd.blob.core.windows.net/snapshots`,
    },
  };
}

export function exampleControlPlane(spec: ClusterSpec, index = 0) {
  const member = spec.controlPlane.members[index] ?? assert.fail(`there is no member ${index}`);
  const host =
    spec.cloud === "aws"
      ? `${spec.name}-api-0123456789abcdef.elb.${spec.region}.amazonaws.com`
      : `api.${spec.name}.internal`;
  return controlPlanePayload({
    spec,
    member,
    endpoint: { host, ...(spec.publicAccess !== undefined && { publicHost: `public-${host}` }) },
    access: exampleControlPlaneAccess(spec),
  });
}

/** The first one. */
function linuxPool(spec: ClusterSpec) {
  return spec.pools.find((pool) => pool.os === "linux") ?? assert.fail("the stack has no Linux pool");
}

/** The first one. */
export function windowsPool(spec: ClusterSpec) {
  return spec.pools.find((pool) => pool.os === "windows") ?? assert.fail("the stack has no Windows pool");
}

export function exampleLinuxWorker(spec: ClusterSpec, pool = linuxPool(spec)) {
  return linuxWorkerPayload({ spec, pool, access: exampleAccess(spec, pool.name) });
}

export function exampleWindowsWorker(spec: ClusterSpec, pool = windowsPool(spec)) {
  return windowsWorkerPayload({ spec, pool, access: exampleAccess(spec, pool.name) });
}

/** One Windows pool of an example stack, at one Kubernetes release. */
interface WindowsExample {
  readonly spec: ClusterSpec;
  readonly pool: WindowsPool;
  readonly payload: WorkerPayload;
}

/** Every Windows pool of the production stacks, or of one cloud's. */
export function windowsExamples(...clouds: readonly ("aws" | "azure")[]): readonly WindowsExample[] {
  return (clouds.length === 0 ? (["aws", "azure"] as const) : clouds).flatMap((cloud) => {
    const spec = exampleSpec(`${cloud}-prod`);
    return spec.pools.flatMap((pool) =>
      pool.os === "windows" ? [{ spec, pool, payload: exampleWindowsWorker(spec, pool) }] : [],
    );
  });
}

/** A pool of each Windows Server at a release: of a cloud's production stack, or made of its first Windows pool. */
export function onePerSystem(cloud: "aws" | "azure", version: string): readonly WindowsExample[] {
  const config = loadConfig(stackConfig(`${cloud}-prod`));
  const first = config.pools.find(({ os }) => os !== "linux") ?? assert.fail("no Windows pool");
  const more = windowsReleases
    .filter(({ name }) => !config.pools.some(({ os }) => os === name))
    .map(({ name }) => ({ ...first, os: name, name: name.slice(-4) }));
  const spec = clusterSpec({
    ...config,
    kubernetes: { ...config.kubernetes, version },
    pools: [...config.pools, ...more],
  });
  return windowsReleases.map(({ name }) => {
    const pool = spec.pools.find((each) => each.os === "windows" && each.release.name === name);
    return pool?.os === "windows"
      ? { spec, pool, payload: exampleWindowsWorker(spec, pool) }
      : assert.fail(`no pool of ${name}`);
  });
}

/** Text of a file of a payload. Throws without it. */
export function fileOf(payload: MachinePayload, path: string) {
  const file =
    payload.files.find((candidate) => candidate.path === path) ?? assert.fail(`no file ${path} in the payload`);
  return file.content;
}

const registry =
  "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shared/providers/Microsoft.ContainerRegistry/registries/example";
const registrySpecs = {
  aws: specOf("aws-prod", {
    registryAccess: { resources: ["arn:aws:ecr:eu-central-1:123456789012:repository/team/*"] },
  }),
  azure: specOf("azure-prod", { registryAccess: { resources: [registry] } }),
};

/** What a worker of a system gets. */
export function registryPayload(cloud: "aws" | "azure", os: "linux" | "windows"): MachinePayload {
  const spec = registrySpecs[cloud];
  const access = { ...exampleAccess(spec, "pool"), tenantId: "tenant" };
  return os === "linux"
    ? linuxWorkerPayload({ spec, pool: linuxPool(spec), access })
    : windowsWorkerPayload({ spec, pool: windowsPool(spec), access });
}

export const registryPaths = {
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

/**
 * The files, by path, of a machine of a pool that has all that one may have. Its logins are no secrets: they never leave
 * the test.
 */
export function fullPayload(): Readonly<Record<string, string>> {
  const login = { username: "u", password: "p" };
  const host = "mirror.example.com:8443";
  const wanted = {
    httpProxy: "http://proxy.example.com:3128",
    proxyCredentials: login,
    registryCredentials: { [host]: login },
    mirror: { artifacts: `https://${host}/files`, registries: { "registry.k8s.io": `https://${host}/v2/k8s` } },
  };
  const spec = clusterSpec(loadConfig({ ...stackConfig("aws-dev"), ...configTexts(wanted) }, undefined, () => true));
  const own = { timeZone: "UTC", annotations: { a: "b" }, beforeJoin: "exit 0", afterJoin: "exit 0" };
  const pool = { ...windowsPool(spec), ...own };
  const access = exampleAccess(spec, pool.name);
  const cloud = { ...access.cloud, credentials: "logins" };
  const { files } = windowsWorkerPayload({ spec, pool, access: { ...access, cloud } });
  const bake = bakeData({ spec, pool, files, product: "1.2.3", base: "ami-1", images: ["a@sha256:1", "b@sha256:2"] });
  const forBake = { path: "C:\\fenestra\\bake.json", content: JSON.stringify(bake) };
  return Object.fromEntries([...files, forBake].map(({ path, content }) => [path, content]));
}
