import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { addressAt, type Cidr, cidr, contains } from "../../components/model/cidr.ts";
import type { DecodedUserData } from "../../plan/decode/userData.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import { type MirrorOnly, type MirrorSettings, startMirrorOnly } from "../clouds/mirror.ts";
import {
  type ArtifactFiles,
  artifactFiles,
  artifactServer,
  defaultRegistry,
  defaultRegistryFile,
  parseArtifacts,
  registriesIn,
  registryHost,
  startRegistry,
  substituteDigests,
} from "../clouds/publishers.ts";
import {
  type EndpointRequest,
  issueServerCertificate,
  type LookUp,
  listen,
  newAuthority,
  startNameServer,
} from "../clouds/server.ts";
import { runOrFail } from "../host/command.ts";
import { startLoadBalancer } from "../host/loadBalancer.ts";
import { createNetwork, type Network } from "../host/network.ts";
import type { Surroundings } from "../machines/linuxMachine.ts";

/** Where the simulated endpoints and load balancers listen: TEST-NET-2 (RFC 5737), outside of every planned network. */
const outside = cidr("198.51.100.0/24");
const firstMirrorIndex = 11;
const firstBalancerIndex = 20;
/** Of the cloud's endpoints, the publishers and the registries. */
const endpointAddress = addressAt(outside, 10);
const metadataAddress = "169.254.169.254";
/** The payload's list of artifacts on a Linux machine. */
const artifactList = "/etc/fenestra/artifacts.tsv";

/** A machine with its decoded user data. */
export interface DecodedMachine {
  readonly machine: SimulatedMachine;
  readonly payload: DecodedUserData;
}

/** The surroundings that machines boot into: network, endpoints, load balancers, artifacts. */
export interface SimulatedInfra extends Surroundings {
  /** Look-ups, by machines and pods, of hosts that do not exist, a live list. */
  readonly lookUps: readonly LookUp[];
  readonly artifacts: ArtifactFiles;
  /** In the publishers' place in a network that reaches only a mirror or a proxy. */
  readonly mirror: MirrorOnly | undefined;
}

/**
 * Builds the surroundings in the rehearsal's own namespaces.
 * @param mirror the stack's mirror or proxy, the only way to publishers then
 */
export async function buildSimulatedInfra(
  cloud: CloudSimulation,
  decoded: readonly DecodedMachine[],
  networkCidrs: readonly string[],
  workFolder: string,
  mirror?: MirrorSettings,
): Promise<SimulatedInfra> {
  const ranges = networkCidrs.map(cidr);
  const rangeOf = (address: string): Cidr => {
    const found = ranges.find((range) => contains(range, cidr(`${address}/32`)));
    if (found === undefined) throw new Error(`${address} is in no range of the network: ${networkCidrs.join(", ")}`);
    return found;
  };
  const network = await createNetwork({
    addresses: ranges.map((range) => `${addressAt(range, 1)}/${range.prefix}`),
    linkLocal: [metadataAddress, ...(cloud.platform === undefined ? [] : [cloud.platform.address])],
  });
  const published = await publish(decoded, workFolder, mirror);
  const { names, authority } = await startEndpoints(cloud, network, published);
  const mirrorOnly = mirror === undefined ? undefined : await startMirror(mirror, network, published, authority);
  const balancers = await startBalancers(cloud, network);
  const hosts = (reader?: string) => [
    ...names.map((name) => `${endpointAddress} ${name}`),
    ...(mirrorOnly?.hosts ?? []),
    ...balancers
      .filter(({ answersTargets, targets }) => answersTargets || !targets.some(({ host }) => host === reader))
      .map(({ address, dnsName }) => `${address} ${dnsName}`),
  ];
  await useHosts(hosts(), workFolder);
  const nameServer = cloud.nameServer(ranges[0] ?? outside);
  if (nameServer !== cloud.platform?.address) await network.addAddress(nameServer);
  // Machines have these names in their hosts file, but their pods ask for them.
  const find = (name: string, caller: string) =>
    hosts(caller)
      .find((line) => line.endsWith(` ${name}`))
      ?.split(" ")[0];
  const ownsRegistry = decoded.some(({ payload }) => payload.files.some((file) => file.path === defaultRegistryFile));
  return {
    network,
    interfaceOf: (address) => `${address}/${rangeOf(address).prefix}`,
    gatewayOf: (address) => addressAt(rangeOf(address), 1),
    hosts,
    resolvConf: `nameserver ${nameServer}\n`,
    lookUps: await startNameServer({ address: nameServer, find }),
    endpointCa: authority.certificate,
    artifacts: published.files,
    files: mirror === undefined && !ownsRegistry ? { [defaultRegistryFile]: defaultRegistry } : {},
    mirror: mirrorOnly,
  };
}

type Published = Awaited<ReturnType<typeof publish>>;

/** What machines download, and who gives it; with a mirror the publishers themselves are out of reach. */
async function publish(decoded: readonly DecodedMachine[], workFolder: string, mirror: MirrorSettings | undefined) {
  const payloads = decoded.map(({ payload }) => payload.files);
  const lines = payloads.flatMap((files) =>
    parseArtifacts(files.find((file) => file.path === artifactList)?.content ?? ""),
  );
  await mkdir(path.join(workFolder, "artifacts"), { recursive: true });
  const files = await artifactFiles(lines, workFolder);
  return {
    lines,
    files,
    publishers: artifactServer(mirror === undefined ? lines : [], files),
    registry: await startRegistry(workFolder),
    registries: [registryHost, ...(mirror === undefined ? payloads.flatMap(registriesIn) : [])],
  };
}

/** The cloud's endpoints, the publishers and the registries at one address, and the metadata service. */
async function startEndpoints(cloud: CloudSimulation, network: Network, of: Published) {
  const { publishers, registry, registries } = of;
  const authority = newAuthority("Fenestra rehearsal");
  const names = [...new Set([...cloud.hosts, ...publishers.hosts, ...registries])];
  const { certificate, key } = issueServerCertificate(authority, { commonName: "rehearsal", dnsNames: names });
  await network.addAddress(endpointAddress);
  await listen(metadataAddress, 80, cloud.metadata);
  if (cloud.platform !== undefined) await listen(cloud.platform.address, 80, cloud.platform.handle);
  const answer = (request: EndpointRequest) => {
    if (publishers.hosts.includes(request.host)) return publishers.handle(request);
    return registries.includes(request.host) ? registry(request) : cloud.endpoints(request);
  };
  await listen(endpointAddress, 443, answer, { cert: certificate, key });
  return { names, authority };
}

async function startMirror(
  settings: MirrorSettings,
  network: Network,
  { lines, files, registry }: Published,
  authority: ReturnType<typeof newAuthority>,
): Promise<MirrorOnly> {
  let index = firstMirrorIndex;
  return await startMirrorOnly({
    settings,
    authority,
    registry,
    endpoint: endpointAddress,
    newAddress: async (wanted = addressAt(outside, index++)) => {
      await network.addAddress(wanted);
      return wanted;
    },
    contents: (place) => {
      const file = files.get(lines.find(({ url }) => url === place)?.name ?? "");
      // Windows does not run here: only the file's digest in the list is looked at.
      return file ?? Buffer.from(`Fake of the rehearsal for ${place}\n`);
    },
  });
}

async function startBalancers({ balancers }: CloudSimulation, network: Network) {
  return await Promise.all(
    balancers.map(async (balancer, index) => {
      const address = addressAt(outside, firstBalancerIndex + index);
      const { port, targets, health } = balancer;
      await network.addAddress(address);
      await startLoadBalancer({ host: address, port, backends: targets, health });
      return { ...balancer, address };
    }),
  );
}

/** The harness resolves the load balancers' names too; its mount namespace is its own, so the host's file stays. */
async function useHosts(hosts: readonly string[], workFolder: string): Promise<void> {
  const file = path.join(workFolder, "hosts");
  await writeFile(file, `127.0.0.1 localhost\n${hosts.join("\n")}\n`);
  await runOrFail(["mount", "--bind", file, "/etc/hosts"]);
}

/**
 * A Linux payload with the digests of what the simulated publishers serve; load balancers, which no packet reaches, let
 * machines go at once.
 */
export function withServedDigests(payload: DecodedUserData, artifacts: ArtifactFiles): DecodedUserData {
  return {
    ...payload,
    files: payload.files.map(({ content, ...file }) => ({
      ...file,
      content:
        file.path === artifactList
          ? substituteDigests(content, artifacts)
          : content.replace(/^BALANCER_SECONDS=.*$/m, "BALANCER_SECONDS=5"),
    })),
  };
}
