import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { V1Node } from "@kubernetes/client-node";
import { expect } from "../../check/check.ts";
import { messageOf } from "../../components/model/messages.ts";
import { type Kubectl, kubectlWith } from "../api/apply.ts";
import { type Api, answersReady, apiFor, isReady } from "../api/client.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import { initialiseNodes, startCloudController } from "../clouds/cloudController.ts";
import { limitsMs, type Progress } from "../host/command.ts";
import { logTail, waitFor } from "../host/processes.ts";
import { imagePrograms } from "../machines/containers.ts";
import { startKwok } from "../machines/kwok.ts";
import { diskOf, type LinuxMachine, startLinuxMachine, wipeDisk } from "../machines/linuxMachine.ts";
import { endOf, refusal, stuckStage } from "../machines/logs.ts";
import { type PinnedImages, startWindowsMachine } from "../machines/windowsMachine.ts";
import type { Programs } from "../programs/obtain.ts";
import { type DecodedMachine, type SimulatedInfra, withServedDigests } from "./surroundings.ts";

/** Programs for the launchers of a Linux machine. */
const nodePrograms = ["kubelet", "kubeadm", "kubectl", "etcdctl", "etcdutl", "agnhost"] as const;
/** Unit of a machine's bootstrap. */
const bootstrapUnit = "fenestra-bootstrap.service";

/** Programs of one Kubernetes release. */
export interface Release {
  readonly programs: Programs;
}

/** What a cluster is brought up from. */
interface ClusterParts extends Release {
  readonly cloud: CloudSimulation;
  readonly infra: SimulatedInfra;
  /** Folder of the programs that run containers. */
  readonly containers: string;
  readonly progress: Progress;
  readonly workFolder: string;
  readonly pinnedImages: PinnedImages;
  /** Kubeconfig of the program itself. */
  readonly kubeconfig: string;
}

const listed = (folder: string): Promise<readonly string[]> => readdir(folder).catch(() => []);

export class Cluster {
  readonly #parts: ClusterParts;
  #release: Release;
  readonly #machines = new Map<string, LinuxMachine>();
  readonly #failedJoins: string[] = [];
  /** Kubelet logs of Windows machines, by the machines' names. */
  readonly #windowsLogs = new Map<string, string>();
  /** Why kubelets have no Node. */
  readonly refusals = new Refusals(async () => [...(await this.#refused()), ...(await this.#stuck())]);
  readonly #failures = new Refusals(() => this.#stuck());
  readonly registered = new Map<string, V1Node>();
  readonly api: Api;
  readonly kubectl: Kubectl;
  readonly kubeconfigFile: string;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    this.#release = parts;
    this.kubeconfigFile = path.join(parts.workFolder, "admin.kubeconfig");
    this.api = apiFor(parts.kubeconfig);
    this.kubectl = kubectlWith(parts.programs.kubectl.path, this.kubeconfigFile);
  }

  /** Machines that run in namespaces, by id. */
  get machines(): ReadonlyMap<string, LinuxMachine> {
    return this.#machines;
  }

  /** Gives machines that start from now on the programs of this release. */
  useRelease(release: Release): void {
    this.#release = release;
  }

  /**
   * Starts the control plane, and waits until it answers through its load balancer.
   *
   * @param meanwhile is begun when its machines boot
   */
  async startControlPlane(decoded: readonly DecodedMachine[], meanwhile: () => void): Promise<void> {
    const { progress, workFolder, kubeconfig } = this.#parts;
    await mkdir(workFolder, { recursive: true });
    await writeFile(this.kubeconfigFile, kubeconfig, { mode: 0o600 });
    const machines = await Promise.all(decoded.map((machine) => this.startLinux(machine, true)));
    progress.line(`control plane: ${machines.map(({ name }) => name).join(", ")} boot from their user data`);
    meanwhile();
    const answers = (): Promise<boolean> => answersReady(kubeconfig);
    await this.#reached("the API to answer through its load balancer", answers, this.refusals);
    progress.line("control plane: /readyz answers through the load balancer");
  }

  /** Starts KWOK, which keeps Windows nodes alive and their pods running. */
  async startKwok(): Promise<void> {
    const { workFolder, programs, progress } = this.#parts;
    await startKwok(programs.kwok.path, this.kubeconfigFile, workFolder);
    progress.line("KWOK keeps Windows nodes and their pods alive (simulated)");
  }

  /** Boots a Linux machine from its user data. */
  async startLinux(
    { machine, payload }: DecodedMachine,
    controlPlane: boolean,
    begin = Promise.resolve(),
  ): Promise<LinuxMachine> {
    const { infra, workFolder } = this.#parts;
    const { programs } = this.#release;
    const started = await startLinuxMachine({
      ...{ machine, around: infra, workFolder, begin },
      payload: withServedDigests(payload, infra.artifacts),
      programs: {
        containers: this.#parts.containers,
        ...Object.fromEntries(
          [...nodePrograms, ...(controlPlane ? imagePrograms : [])].map((program) => [program, programs[program].path]),
        ),
      },
      ...(controlPlane && { disk: diskOf(machine) }),
    });
    this.#machines.set(machine.id, started);
    return started;
  }

  /**
   * Boots the workers: Linux ones from their user data, Windows ones from their kubelet on, since PowerShell does not
   * run here.
   *
   * @param begin when they boot. Default: at once.
   */
  async startWorkers(decoded: readonly DecodedMachine[], begin = Promise.resolve()): Promise<void> {
    await Promise.all(
      decoded.map(async (worker) => {
        if (worker.payload.system === "linux") {
          await this.startLinux(worker, false, begin);
          return;
        }
        this.#startWindows(worker, begin).catch((error: unknown) =>
          this.#failedJoins.push(`${worker.machine.name}: ${messageOf(error)}`),
        );
      }),
    );
  }

  async #startWindows({ machine, payload }: DecodedMachine, begin: Promise<void>): Promise<void> {
    const { cloud, pinnedImages, infra, workFolder } = this.#parts;
    const { programs } = this.#release;
    const identity = cloud.identity(machine);
    const logFile = path.join(workFolder, "logs", identity.nodeName, "kubelet.log");
    this.#windowsLogs.set(machine.name, logFile);
    await startWindowsMachine(payload, {
      ...{ machine, identity, pinnedImages, around: infra, workFolder, api: this.api, logFile, begin },
      readSecret: (name: string, clientId?: string) => cloud.readSecret(machine, name, clientId),
      kubelet: programs.kubelet.path,
      containers: this.#parts.containers,
    });
  }

  async #refused(): Promise<readonly string[]> {
    const linux = [...this.#machines.values()].map(
      ({ name, systemd }) => [name, systemd.logFile("kubelet.service")] as const,
    );
    const refused = await Promise.all(
      [...linux, ...this.#windowsLogs].map(async ([name, logFile]) => {
        const reason = refusal(await readFile(logFile, "utf8").catch(() => ""));
        return reason === undefined ? [] : [`${name}: ${reason}`];
      }),
    );
    return refused.flat();
  }

  /** Machines that get no further: Linux ones by their bootstrap, Windows ones that could not join. */
  async #stuck(): Promise<readonly string[]> {
    const found = await Promise.all(
      [...this.#machines.values()].map(async ({ name, systemd }) => {
        const stage = stuckStage(await readFile(systemd.logFile(bootstrapUnit), "utf8").catch(() => ""));
        return stage === undefined ? [] : [`${name}: ${stage}`];
      }),
    );
    return [...this.#failedJoins, ...found.flat(), ...(await this.#ended())];
  }

  /** Programs of control-plane machines that have ended, by the newest log of each. */
  async #ended(): Promise<readonly string[]> {
    const found = await Promise.all(
      [...this.#machines.values()].flatMap(({ name, machine }) =>
        imagePrograms.map(async (program) => {
          const pods = `/proc/${machine.pid}/root/var/log/pods`;
          const pod = (await listed(pods)).find((each) => each.startsWith(`kube-system_${program}-`));
          const logs = `${pods}/${pod}/${program}`;
          // Their names are the numbers of the attempts.
          const [newest] = (await listed(logs)).toSorted((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10));
          const end = endOf(await readFile(`${logs}/${newest}`, "utf8").catch(() => ""));
          return end === undefined ? [] : [`${name}: ${program} ends: ${end}`];
        }),
      ),
    );
    return found.flat();
  }

  /**
   * Waits for what the machines must reach, unless something lasts that keeps them from it. @throws CheckFailure with
   * what does
   */
  async #reached(description: string, look: () => Promise<boolean>, failures: Refusals): Promise<void> {
    let readAt = Number.NEGATIVE_INFINITY;
    const lookOnce = async (): Promise<readonly string[] | false> => {
      // Reads all logs; what is told has lasted for longer.
      if (performance.now() > readAt + 3_000) {
        const lasting = await failures.lasting();
        if (lasting.length > 0) return lasting;
        readAt = performance.now();
      }
      return (await look()) && [];
    };
    const lasting = await waitFor(description, limitsMs.machine, lookOnce).catch(async (error: unknown) => {
      const machines = [...this.#machines.values()];
      const logs = await Promise.all(machines.map(({ systemd }) => logTail(systemd.logFile(bootstrapUnit))));
      throw new Error([messageOf(error), ...logs].join("\n"));
    });
    expect(lasting.length === 0, lasting.join("\n"));
  }

  /** A machine's power fails; its disk stays, or is lost too. */
  async powerOff(member: DecodedMachine, disk: "kept" | "lost"): Promise<void> {
    await this.powerOffMachine(member.machine);
    if (disk === "lost") await wipeDisk(this.#parts.workFolder, diskOf(member.machine));
  }

  /** Ends a machine, if one runs in a namespace. */
  async powerOffMachine({ id }: DecodedMachine["machine"]): Promise<void> {
    const machine = this.#machines.get(id);
    this.#machines.delete(id);
    await machine?.destroy();
  }

  /** Deletes a control-plane machine and boots its successor, which has another payload and the same disk. */
  async replaceBy(member: DecodedMachine, successor: DecodedMachine): Promise<void> {
    await this.powerOffMachine(member.machine);
    this.#parts.cloud.terminate(member.machine);
    this.#parts.cloud.launch(successor.machine);
    await this.startLinux(successor, true);
  }

  /** Makes a machine anew: another instance with the same user data, address and disk. */
  async replaceMachine(member: DecodedMachine): Promise<DecodedMachine> {
    const successor = { machine: this.#parts.cloud.replace(member.machine), payload: member.payload };
    await this.startLinux(successor, member.machine.group === undefined);
    return successor;
  }

  /** Waits until the API server has taken the Nodes of all kubelets. The cloud controller begins after it. */
  async untilRegistered(count: number): Promise<void> {
    const look = async (): Promise<boolean> => {
      const { items } = await this.api.core.listNode();
      for (const node of items) {
        const { name = "" } = node.metadata ?? {};
        this.registered.set(name, this.registered.get(name) ?? node);
      }
      if (items.length < count) throw new Error(`${items.length} are`);
      return true;
    };
    await this.#reached(`${count} nodes to be registered`, look, this.refusals);
  }

  /** Plays the cloud controller until every node is initialised and Ready. */
  async untilNodesReady(count: number): Promise<void> {
    const { cloud } = this.#parts;
    const instances = cloud.machines.map(cloud.instance);
    const look = async (): Promise<boolean> => {
      await initialiseNodes(this.api, instances);
      const nodes = (await this.api.core.listNode()).items;
      const ready = nodes.filter(isReady);
      // The fake passes over an unknown node, which a later check reports by its pool.
      if (ready.length >= count) return true;
      throw new Error(`${ready.length} of ${nodes.length} nodes Ready, ${count} wanted`);
    };
    await this.#reached(`${count} nodes to be Ready`, look, this.#failures);
  }

  /** Plays the lasting parts of the cloud. */
  startCloudController(): void {
    startCloudController(this.api, this.#parts.cloud, this.#parts.infra.network);
  }

  /** Waits until the bootstrap of every machine in a namespace has ended well. */
  async untilBooted(): Promise<void> {
    const look = async (): Promise<boolean> => {
      const late = [...this.#machines.values()].filter(({ systemd }) => systemd.state(bootstrapUnit).lastCode !== 0);
      if (late.length > 0) throw new Error(`${late.map(({ name }) => name).join(", ")} go on`);
      return true;
    };
    await this.#reached("the bootstraps to end well", look, this.#failures);
  }
}

/**
 * How long a refusal must last, in milliseconds. A kubelet also asks before it has its rights: again after 2, 4 and 8
 * seconds for its first certificate (client-go: util/certificate/certificate_manager.go), after 7 at most for its Node.
 */
const patienceMs = 15_000;

/**
 * What keeps kubelets from having a Node, and since when, whatever it says: one that trusts another authority is
 * refused certificate and Node in turns.
 */
export class Refusals {
  readonly #since = new Map<string, number>();
  readonly #look: () => Promise<readonly string[]>;

  /** @param look finds the refusals of now, each as `machine: reason` */
  constructor(look: () => Promise<readonly string[]>) {
    this.#look = look;
  }

  /** Those that do not pass by themselves, the machines of one reason in one line. */
  async lasting(): Promise<readonly string[]> {
    const now = Date.now();
    const refused = await this.#look();
    const machines = new Set(refused.map(machineOf));
    for (const machine of this.#since.keys()) if (!machines.has(machine)) this.#since.delete(machine);
    for (const machine of machines) this.#since.set(machine, this.#since.get(machine) ?? now);
    return byReason(refused.filter((problem) => now - (this.#since.get(machineOf(problem)) ?? now) > patienceMs));
  }
}

function machineOf(problem: string): string {
  return problem.split(": ", 1)[0] ?? "";
}

/** Problems with each reason in one line: `a (and 2 more): reason`. Pure. */
function byReason(problems: readonly string[]): readonly string[] {
  const machines = new Map<string, string[]>();
  for (const problem of problems) {
    const [, machine = problem, reason = ""] = /^(\S+): (.*)$/s.exec(problem) ?? [];
    machines.set(reason, [...(machines.get(reason) ?? []), machine]);
  }
  return [...machines].map(([reason, [first, ...more]]) =>
    more.length === 0 ? `${first}: ${reason}` : `${first} (and ${more.length} more): ${reason}`,
  );
}
