import { mkdir } from "node:fs/promises";
import path from "node:path";
import { messageOf } from "../../components/gates/messageOf.ts";
import { placeOf } from "../../plan/fakes/cloud.ts";
import type { SimulatedCloud } from "../../plan/program/engine.ts";
import { nameOfUrn, type RecordedProgram } from "../../plan/program/recorded.ts";
import { type Deployer, ServedCloud } from "../../plan/providers/cloud.ts";
import { makeEngineProject } from "../../plan/providers/engineProject.ts";
import { serveProviders } from "../../plan/providers/serve.ts";
import { defineServiceMonitors } from "../clouds/monitoring.ts";
import type { DecodedMachine } from "../cluster/bringUp.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Progress } from "../host/progress.ts";

interface EngineParts {
  readonly stack: string;
  /** The stack's config in the recorded run. */
  readonly config: Readonly<Record<string, string>>;
  readonly program: RecordedProgram;
  readonly simulate: SimulatedCloud;
  /** Default: somebody who may do everything. */
  readonly deployer: Deployer | undefined;
  readonly cluster: Cluster;
  readonly machines: readonly DecodedMachine[];
  readonly workFolder: string;
  readonly progress: Progress;
}

/** What an engine needs, inside the rehearsal's namespaces. */
export interface EngineAccess {
  /** Lines that set them in a shell. */
  readonly variables: string;
  /** Folder of the Pulumi project. */
  readonly folder: string;
}

const isWorker = ({ machine }: DecodedMachine): boolean => machine.group !== undefined;

/**
 * Serves the simulated clouds to an engine, which runs the program once more. A machine boots when the engine makes its
 * instance, virtual machine or group, and loses its power when that is deleted. It boots from the recorded run's user
 * data, so its resource must have the same inputs; of another one nothing starts, and a line says why.
 */
export async function serveEngine(parts: EngineParts): Promise<EngineAccess> {
  const { stack, config, program, simulate, cluster, machines, workFolder, progress } = parts;
  let isUp = false;
  const boot = async (booting: readonly DecodedMachine[]): Promise<void> => {
    const [workers, members] = [booting.filter(isWorker), booting.filter((machine) => !isWorker(machine))];
    if (isUp || workers.length > 0) {
      await Promise.all(members.map((member) => cluster.startLinux(member, true)));
      await cluster.startWorkers(workers);
      return;
    }
    isUp = true;
    await cluster.startControlPlane(members);
    await cluster.startKwok();
    await defineServiceMonitors(program, cluster.kubectl);
    cluster.startCloudController();
  };
  const failed = (what: string) => (error: unknown) => progress.line(`engine: ${what}: ${messageOf(error)}`);
  const of = (urn: string) => machines.filter(({ machine }) => machine.urn === urn);
  const watch = {
    created: (urn: string, differences: readonly string[] | undefined) => {
      const booting = of(urn);
      if (booting.length === 0) return;
      if (differences?.length !== 0) {
        const why = differences === undefined ? "it takes the place of one that is gone" : differences.join(", ");
        progress.line(
          `engine: ${nameOfUrn(urn)} boots no machine, for it is not as in the rehearsal's own run: ${why}`,
        );
        return;
      }
      progress.line(`engine: made ${nameOfUrn(urn)}: ${booting.map(({ machine }) => machine.name).join(", ")} boot`);
      boot(booting).catch(failed(nameOfUrn(urn)));
    },
    deleted: (urn: string) => {
      for (const gone of of(urn)) {
        progress.line(`engine: deleted ${nameOfUrn(urn)}: ${gone.machine.name} has no power`);
        cluster.powerOff(gone, "kept").catch(failed(gone.machine.name));
      }
    },
  };
  const clouds = new ServedCloud(simulate, program.resources, watch, placeOf(config).existing);
  clouds.deployer = parts.deployer ?? clouds.deployer;
  const served = await serveProviders(clouds);
  const folder = path.join(workFolder, "engine");
  await mkdir(folder, { mode: 0o700 });
  return { variables: makeEngineProject({ folder, stack, config, ports: served.ports }), folder };
}
