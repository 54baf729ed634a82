import { readdir, readlink, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { runOrFail } from "./command.ts";
import { waitFor } from "./processes.ts";

interface NetworkOptions {
  /** The cloud's own addresses with prefix, such as the first of each subnet: `["10.0.0.1/20"]`. */
  readonly addresses: readonly string[];
  /** Addresses such as the instance metadata service's, to which each machine gets a route. */
  readonly linkLocal: readonly string[];
}

interface MachineOptions {
  readonly name: string;
  /** Planned address of `eth0` with prefix: `10.0.0.10/20`. */
  readonly address: string;
  /** The machine's default route: the bridge's address in its subnet. */
  readonly gateway: string;
}

/** A simulated machine: network, mount and host name namespaces, held open by one process. */
export interface Machine {
  readonly name: string;
  /** Address of `eth0` without prefix. */
  readonly address: string;
  /** The process that holds the namespaces open, for nsenter. */
  readonly pid: number;
  /** Kills all processes of the machine at once, as a power failure, and removes its network. Its volumes stay. */
  destroy(): Promise<void>;
}

/** A bridge that stands in for a cloud's network. */
export interface Network {
  /** Gives the bridge a further address for a simulated endpoint. Default prefix: /32. */
  addAddress(address: string): Promise<void>;
  addMachine(options: MachineOptions): Promise<Machine>;
}

const bridge = "fen0";

/**
 * Creates the bridge in the current network namespace, the rehearsal's own (see `insideNamespaces`). All machines hang
 * on it, and the namespace routes between subnets, as a VPC's router does.
 */
export async function createNetwork(options: NetworkOptions): Promise<Network> {
  const { addresses, linkLocal } = options;
  await ipBatch([
    // A bridge without an address of its own takes the lowest of its ports', which changes as machines come and go.
    `link add ${bridge} address 02:fe:00:00:00:01 type bridge`,
    ...[...addresses, ...linkLocal].map(addAddressLine),
    `link set ${bridge} up`,
  ]);
  await writeFile("/proc/sys/net/ipv4/ip_forward", "1");
  // Since subnets share the bridge, the kernel would tell machines to talk directly; a cloud's router does not.
  await writeFile("/proc/sys/net/ipv4/conf/all/send_redirects", "0");
  await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/send_redirects`, "0");
  let machines = 0;
  return {
    addAddress: (address) => ipBatch([addAddressLine(address)]),
    addMachine: (machine) => {
      machines += 1;
      return connectMachine(machine, `fen0m${machines}`, linkLocal);
    },
  };
}

function addAddressLine(address: string): string {
  return `address add ${address.includes("/") ? address : `${address}/32`} dev ${bridge}`;
}

async function connectMachine(options: MachineOptions, link: string, linkLocal: readonly string[]): Promise<Machine> {
  const address = options.address.replace(/\/.*/, "");
  const pid = await startHolder(options.name);
  try {
    await ipBatch([
      `link add ${link} type veth peer name eth0 address ${macOf(address)} netns ${pid}`,
      `link set ${link} master ${bridge} up`,
    ]);
    const inMachine = [
      "link set lo up",
      `address add ${options.address} dev eth0`,
      "link set eth0 up",
      `route add default via ${options.gateway}`,
      ...linkLocal.map((target) => `route add ${target}/32 dev eth0`),
    ];
    await ipBatch(inMachine, ["nsenter", "--net", "--target", String(pid)]);
    await untilForwarding(link);
  } catch (error) {
    await killMachineProcesses(pid);
    throw error;
  }
  return {
    name: options.name,
    address,
    pid,
    async destroy() {
      await killMachineProcesses(pid);
      // The kernel removes the pair some time after the namespace; a successor with the same address must not meet it.
      await runOrFail(["bash", "-c", `ip link delete ${link} 2>/dev/null || ! ip link show ${link} >/dev/null 2>&1`]);
    },
  };
}

/**
 * A locally administered MAC address from the IPv4 address: a replaced machine with the same address is reached before
 * its peers' ARP entries expire.
 */
export function macOf(address: string): string {
  const bytes = address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
  return `02:fe:${bytes.join(":")}`;
}

/**
 * Waits until the bridge forwards from the machine. The kernel handles changes of a link's carrier at most once a
 * second (net/core/link_watch.c); packets sent before are lost, and repeated a second later.
 */
async function untilForwarding(link: string): Promise<void> {
  await waitFor(
    `the bridge to forward from ${link}`,
    60_000,
    async () => {
      const state = await runOrFail(["ip", "-details", "-oneline", "link", "show", link]);
      if (!/ state UP .* state forwarding /.test(state)) throw new Error(state.trim());
      return true;
    },
    20,
  );
}

async function ipBatch(lines: readonly string[], prefix: readonly string[] = []): Promise<void> {
  await runOrFail([...prefix, "ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
}

/** Starts the process that keeps a machine's namespaces open, with its host name. @returns its pid, once they exist */
async function startHolder(name: string): Promise<number> {
  // Writing to /proc needs root of the initial user namespace, `hostname` only the right to change this one.
  const setName = 'hostname "$0" 2>/dev/null || echo "$0" > /proc/sys/kernel/hostname';
  const script = `${setName} && { sleep infinity <&- >&- 2>&- & echo $!; }`;
  return Number(await runOrFail(["unshare", "--net", "--mount", "--uts", "bash", "-c", script, name]));
}

/**
 * The other processes of the machine of `pid`. Containers may have their own network and mounts, but no host name.
 */
async function othersOf(pid: number): Promise<readonly number[]> {
  const own = await namespaceOf(pid);
  if (own === undefined) return [];
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry)).map(Number);
  const all = await Promise.all(pids.map(async (other) => ({ other, namespace: await namespaceOf(other) })));
  return all.flatMap(({ other, namespace }) => (namespace === own && other !== pid ? other : []));
}

async function killMachineProcesses(pid: number): Promise<void> {
  const own = process.pid;
  // At most twice in practice: a process may fork between the listing and its end. The holder, which names the machine,
  // comes last.
  for (let others = await othersOf(pid); others.length > 0; others = await othersOf(pid)) {
    if (others.includes(own)) throw new Error("this process is inside the machine it should kill");
    for (const other of others) kill(other);
    await sleep(5);
  }
  kill(pid);
  while ((await namespaceOf(pid)) !== undefined) await sleep(5);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}

/** The namespace of host names, which a zombie, so counted as gone, no longer has. */
async function namespaceOf(pid: number): Promise<string | undefined> {
  try {
    return await readlink(`/proc/${pid}/ns/uts`);
  } catch {
    return undefined;
  }
}
