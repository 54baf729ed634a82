import assert from "node:assert/strict";
import { loadConfig } from "../../../components/config/load.ts";
import type { PoolAccess } from "../../../components/machine/cloudAccess.ts";
import type { MachinePayload, WorkerPayload } from "../../../components/machine/payload.ts";
import { windowsWorkerPayload } from "../../../components/machine/windows/worker.ts";
import { readArtifactLock } from "../../../components/model/artifacts.ts";
import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import { windowsReleases } from "../../../components/model/operatingSystems.ts";
import type { WindowsPool } from "../../../components/model/pools.ts";
import { minorOf, minors, selectableVersions } from "../../../components/model/releases.ts";
import { clusterSpec } from "../../../components/spec/clusterSpec.ts";
import { exampleSpec, stackConfig } from "../../support/stacks.ts";

/** One Windows pool of an example stack, at one Kubernetes release. */
export interface WindowsExample {
  readonly cloud: "aws" | "azure";
  readonly spec: ClusterSpec;
  readonly pool: WindowsPool;
  readonly payload: WorkerPayload;
}

const selectable = selectableVersions(readArtifactLock());
/** The release of each minor that the examples use: the newest whose programs are in the lock file. */
export const exampleReleases = minors.flatMap(({ minor }) => selectable.filter((version) => minorOf(version) === minor).slice(-1));

/** What a pool's machine knows of its cloud in the examples. */
export function exampleAccess(cloud: "aws" | "azure", cluster: string, pool: string): PoolAccess {
  return cloud === "aws"
    ? {
        cloud: { kind: "aws", region: "eu-central-1", joinSecret: `/fenestra/${cluster}/join` },
        lifecycle: { group: `${cluster}-${pool}`, launchHook: "join", terminateHook: "drain" },
      }
    : {
        cloud: {
          kind: "azure",
          region: "westeurope",
          subscriptionId: "00000000-0000-0000-0000-000000000001",
          resourceGroup: "azure-prod",
          clientId: "00000000-0000-0000-0000-000000000002",
          joinVault: "https://azure-prod-join-a1b2.vault.azure.net",
          joinSecret: "join",
        },
      };
}

/** The production stack of a cloud at another release. */
export function specAt(cloud: "aws" | "azure", version: string): ClusterSpec {
  const config = loadConfig(stackConfig(`${cloud}-prod`));
  return clusterSpec({ ...config, kubernetes: { ...config.kubernetes, version } });
}

function example(cloud: "aws" | "azure", spec: ClusterSpec, pool: WindowsPool): WindowsExample {
  const payload = windowsWorkerPayload({ spec, pool, access: exampleAccess(cloud, spec.name, pool.name) });
  return { cloud, spec, pool, payload };
}

/** Every Windows pool of the production stack of a cloud. */
export function windowsExamples(cloud: "aws" | "azure", version?: string): readonly WindowsExample[] {
  const spec = version === undefined ? exampleSpec(`${cloud}-prod`) : specAt(cloud, version);
  return spec.pools.filter((pool) => pool.os === "windows").map((pool) => example(cloud, spec, pool));
}

/**
 * A pool of each Windows Server at a release: the first of the production stack of a cloud; where it has none, its first Windows pool with
 * that system.
 */
export function onePerSystem(cloud: "aws" | "azure", version: string): readonly WindowsExample[] {
  const config = loadConfig(stackConfig(`${cloud}-prod`));
  const first = config.pools.find(({ os }) => os !== "linux") ?? assert.fail("no Windows pool");
  const more = windowsReleases
    .filter(({ name }) => !config.pools.some(({ os }) => os === name))
    .map(({ name }) => ({ ...first, os: name, name: name.slice(-4) }));
  const spec = clusterSpec({ ...config, kubernetes: { ...config.kubernetes, version }, pools: [...config.pools, ...more] });
  return windowsReleases.map(({ name }) => {
    const pool = spec.pools.find((each) => each.os === "windows" && each.release.name === name);
    return pool?.os === "windows" ? example(cloud, spec, pool) : assert.fail(`no pool of ${name}`);
  });
}

/** Text of a file of a payload. Throws when it has none of that path. */
export function fileOf(payload: MachinePayload, path: string): string {
  const file = payload.files.find((candidate) => candidate.path === path);
  if (file === undefined) throw new Error(`no file ${path} in the payload`);
  return file.content;
}
