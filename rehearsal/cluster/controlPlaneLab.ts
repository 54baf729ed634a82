import { readFile } from "node:fs/promises";
import { expectEqual } from "../../check/check.ts";
import { ports } from "../../check/facts.ts";
import { type Api, openWatches, retryWhileUnavailable } from "../api/client.ts";
import { type CommandResult, limitsMs } from "../host/command.ts";
import { waitFor } from "../host/processes.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";
import type { Cluster } from "./cluster.ts";
import type { DecodedMachine } from "./surroundings.ts";

const pki = "/etc/kubernetes/pki/etcd";

/** The control plane in the hands of the checks that break it. */
export class ControlPlaneLab {
  readonly #cluster: Cluster;
  readonly #members: DecodedMachine[];

  constructor(cluster: Cluster, members: readonly DecodedMachine[]) {
    this.#cluster = cluster;
    this.#members = [...members];
  }

  get size(): number {
    return this.#members.length;
  }

  get indices(): readonly number[] {
    return this.#members.map((_, index) => index);
  }

  /** The running machine of a member. */
  machine(index: number): LinuxMachine {
    const machine = this.#cluster.machines.get(this.member(index).machine.id);
    if (machine === undefined) throw new Error(`control-plane machine ${index} does not run`);
    return machine;
  }

  /** A member with the payload that its machine runs. */
  member(index: number): DecodedMachine {
    const member = this.#members[index];
    if (member === undefined) throw new Error(`there is no control-plane machine ${index}`);
    return member;
  }

  async powerOff(index: number, disk: "kept" | "lost" = "kept"): Promise<void> {
    await this.#cluster.powerOff(this.member(index), disk);
  }

  /** Replaces a machine, as the program does. */
  async replace(index: number): Promise<void> {
    this.#members[index] = await this.#cluster.replaceMachine(this.member(index));
  }

  /** Replaces a machine by another one of its resource. */
  async replaceBy(successor: DecodedMachine): Promise<void> {
    const index = this.#members.findIndex(({ machine }) => machine.urn === successor.machine.urn);
    await this.#cluster.replaceBy(this.member(index), successor);
    this.#members[index] = successor;
  }

  /** Runs a script of a machine's payload, which must end well. */
  async script(index: number, name: string, ...args: readonly string[]): Promise<CommandResult> {
    const result = await this.machine(index).run([`/opt/fenestra/${name}`, ...args], { timeoutMs: limitsMs.program });
    expectEqual(result.code, 0, `exit code of ${name} (${result.stderr.trim().split("\n").at(-1)})`);
    return result;
  }

  /** The same on all machines at once. */
  async onAll(name: string, ...args: readonly string[]): Promise<readonly CommandResult[]> {
    return await Promise.all(this.#members.map((_, index) => this.script(index, name, ...args)));
  }

  async watched<T>(run: () => Promise<T>): Promise<T> {
    const end = await openWatches(await readFile(this.#cluster.kubeconfigFile, "utf8"), 50);
    return await run().finally(end);
  }

  /** kubectl on a machine, as its administrator, with its own API server. */
  async kubectl(index: number, ...args: readonly string[]): Promise<string> {
    const machine = this.machine(index);
    const own = ["--kubeconfig=/etc/kubernetes/admin.conf", `--server=https://${machine.address}:${ports.api}`];
    return said(await machine.run(["kubectl", ...own, "--request-timeout=5s", ...args]), args);
  }

  /** etcdctl on a machine, with its own member. */
  async etcdctl(index: number, ...args: readonly string[]): Promise<string> {
    const keys = [
      `--cacert=${pki}/ca.crt`,
      `--cert=${pki}/healthcheck-client.crt`,
      `--key=${pki}/healthcheck-client.key`,
    ];
    const { run } = this.machine(index);
    const argv = [
      "etcdctl",
      `--endpoints=https://127.0.0.1:${ports.etcdClient}`,
      "--command-timeout=5s",
      ...keys,
      ...args,
    ];
    return said(
      await retryWhileUnavailable(
        () => run(argv),
        ({ code }) => code === 0,
      ),
      args,
    );
  }

  /** Waits until all machines are voting members that answer, and their API servers are ready. */
  async untilHealthy(): Promise<void> {
    await waitFor(`${this.size} healthy voting members`, limitsMs.machine, async () => {
      for (const [index] of this.#members.entries()) {
        const lines = (await this.etcdctl(index, "member", "list")).trim().split("\n");
        const voting = lines.filter((line) => / started, .*, false$/.test(line));
        if (lines.length !== this.size || voting.length !== this.size) throw new Error(`members: ${lines.join(" | ")}`);
        await this.etcdctl(index, "endpoint", "health");
        const ready = await this.machine(index).run([
          "curl",
          "--silent",
          "--fail",
          "--insecure",
          `https://127.0.0.1:${ports.api}/readyz`,
        ]);
        if (ready.code !== 0) throw new Error(`the API server of machine ${index} is not ready`);
      }
      return true;
    });
  }

  /**
   * Waits until all bootstraps have ended well: kubeadm restarts the kubelet in one of the last stages, and whoever
   * takes manifests from a starting one waits for two minutes (etcd-restore.sh). In an update they end when all
   * machines have its release.
   */
  async untilBooted(): Promise<void> {
    await this.#cluster.untilBooted();
  }
}

function said({ code, stdout, stderr }: CommandResult, args: readonly string[]): string {
  if (code === 0) return stdout;
  throw new Error(`${args.join(" ")}: ${stderr.trim().split("\n").at(-1)}`);
}

/**
 * The bridge of a machine whose pods have had addresses: the runtime refuses pods unless it is in the Node's range of
 * now.
 */
export async function bridgeOf(machine: LinuxMachine | undefined, api: Api, node: string): Promise<string> {
  let bridge = "none";
  await waitFor(`the bridge of ${node} to fit its range`, limitsMs.answer, async () => {
    const range = (await api.core.readNode({ name: node })).spec?.podCIDR ?? "";
    const answer = await machine?.run(["ip", "-4", "-oneline", "address", "show", "dev", "cni0"]);
    bridge = /inet (\S+)/.exec(answer?.stdout ?? "")?.[1] ?? "none";
    if (bridge !== "none") expectEqual(bridge, range.replace(".0/", ".1/"), `the bridge of ${node}`);
    return true;
  });
  return bridge;
}
