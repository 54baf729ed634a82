import { mapOf, resourcesOfType, textOf } from "../../../components/gates/resources.ts";
import { startedScript } from "../../../plan/decode/userData.ts";
import {
  type AzureRequest,
  collectAccounts,
  collectOtherVaults,
  collectVaultSecrets,
  collectVaults,
  type HeldRole,
  rolesAllow,
  rolesOf,
  same,
} from "../../../plan/fakes/azureAccess.ts";
import { type AzureHost, collectAzureHosts, healthPortOf, successorOf } from "../../../plan/fakes/azureMachines.ts";
import { uuid } from "../../../plan/fakes/identifiers.ts";
import type { SimulatedMachine } from "../../../plan/fakes/machines.ts";
import type { RecordedProgram } from "../../../plan/program/recorded.ts";
import type { CloudInstance, CloudSimulation } from "../cloud.ts";
import type { EndpointAnswer, EndpointHandler } from "../server.ts";
import { azureApi, managementHost } from "./api.ts";
import { azureBalancers } from "./balancers.ts";
import { type AzureIdentity, azureAddresses, azureMetadata, type ScheduledEvents } from "./metadata.ts";
import { type AzureCloud, type StoredValue, TokenIssuer } from "./state.ts";

/** Azure as the machines of a program see it. */
export function simulateAzure(program: RecordedProgram): CloudSimulation {
  const [fleet, programs, tokens] = [new Fleet(program), new Programs(program), new TokenIssuer()];
  const { machines } = fleet;
  const identities = collectIdentities(program);
  const identitiesOf = (host: AzureHost): readonly AzureIdentity[] =>
    identities.filter(({ id }) => host.identities.some((own) => same(own, id)));
  const hostAt = (address: string): AzureHost | undefined => fleet.hosts.get(address);
  const cloud: AzureCloud = {
    ...{ hostAt, tokens, secrets: programs.secrets, accounts: collectAccounts(program), blobs: new Map(), calls: [] },
    hosts: () => fleet.hosts.values(),
    scaleSets: () => programs.scaleSets,
    madeAt: (host) => fleet.madeAt(host),
    modelOf: ({ machine }) => fleet.models.get(machine.group?.name ?? "") ?? machine,
    authorize: (principalId, request) => programs.allow(principalId, request),
    vaults: [...collectVaults(program), ...collectOtherVaults(program)],
  };
  const endpoints = azureApi(cloud);
  const subscriptionId = /^\/subscriptions\/([^/]+)/.exec([...fleet.hosts.values()][0]?.resourceId ?? "")?.[1] ?? "";
  const metadata = azureMetadata({ subscriptionId, hostAt, identitiesOf, tokens, events: fleet.events });
  return {
    ...{ machines, metadata, endpoints, calls: cloud.calls, balancers: azureBalancers(program) },
    replace: (machine) => fleet.replace(machine),
    // A release's update changes neither vaults nor accounts: its scripts are in the user data.
    update: (next) => {
      programs.update(next);
      return fleet.update(next);
    },
    endUpdate: () => programs.endUpdate(),
    launch: (machine) => fleet.launch(machine),
    terminate: (machine) => fleet.terminate(machine),
    announceEnd: (machine) => fleet.announceEnd(machine),
    // A rolling upgrade is part of each update of the set.
    endRoll: () => undefined,
    nameServer: () => platformAddress,
    platform: { address: platformAddress, handle: azureAddresses(hostAt) },
    hosts: [...[...cloud.vaults, ...cloud.accounts].map(({ host }) => host), managementHost],
    identity: (machine) => {
      const host = fleet.hostOf(machine);
      return { nodeName: host.computerName.toLowerCase(), providerId: providerId(host) };
    },
    instance: (machine) => instanceOf(program, fleet.hostOf(machine)),
    objects: () => () => undefined,
    readSecret: (machine, name, as) => {
      const own = identitiesOf(fleet.hostOf(machine)).filter(({ clientId }) => as === undefined || clientId === as);
      return readSecret(machine, name, own, { metadata, endpoints });
    },
    readAction: "Microsoft.KeyVault/vaults/secrets/getSecret/action",
    secretNames: () => [...cloud.secrets.keys()],
    // The extension connects from inside its machine (Azure/applicationhealth-extension-linux v2.0.29: main/health.go).
    inService: async (machine, listens) => {
      const port = healthPortOf(fleet.hostOf(machine).extensions);
      return port !== undefined && (await listens(port));
    },
  };
}

/** The machines. */
class Fleet {
  /** By their addresses. */
  readonly hosts: Map<string, AzureHost>;
  readonly machines: SimulatedMachine[];
  readonly events: ScheduledEvents = new Map();
  /** Newest machine of each set: who came from its model has its user data. */
  readonly models = new Map<string, SimulatedMachine>();
  readonly #made = new Map<AzureHost, Date>();
  /** What updates ask for. */
  readonly #coming = new Map<SimulatedMachine, AzureHost>();
  #replacements = 0;

  constructor(program: RecordedProgram) {
    this.hosts = new Map(collectAzureHosts(program).map((host) => [host.machine.privateIp, host]));
    this.machines = [...this.hosts.values()].map(({ machine }) => machine);
    for (const host of this.hosts.values()) {
      this.madeAt(host);
      if (host.os === "windows") startedScript(host.machine.startCommand);
    }
  }

  hostOf(machine: SimulatedMachine): AzureHost {
    const host = this.hosts.get(machine.privateIp);
    if (host === undefined) throw new Error(`there is no machine ${machine.id}`);
    return host;
  }

  /** It exists from the first call on. */
  madeAt(host: AzureHost): Date {
    const time = this.#made.get(host) ?? new Date();
    this.#made.set(host, time);
    return time;
  }

  update(next: RecordedProgram): readonly SimulatedMachine[] {
    const wanted = collectAzureHosts(next, undefined, this.machines);
    for (const host of wanted) {
      this.#coming.set(host.machine, host);
      if (host.machine.group !== undefined) this.models.set(host.machine.group.name, host.machine);
    }
    return wanted.map(({ machine }) => machine);
  }

  launch(machine: SimulatedMachine, host = this.#coming.get(machine)): void {
    if (host === undefined) throw new Error(`no update asks for ${machine.id}`);
    this.machines.push(machine);
    this.hosts.set(machine.privateIp, host);
    this.madeAt(host);
  }

  terminate(machine: SimulatedMachine): void {
    const { resourceName } = this.hostOf(machine);
    const left = this.#eventsOf(machine).filter(({ Resources }) => !Resources.includes(resourceName));
    this.events.set(machine.group?.name ?? "", left);
    this.machines.splice(this.machines.indexOf(machine), 1);
    this.hosts.delete(machine.privateIp);
  }

  /** A VM keeps its name; an instance of a scale set gets a number that none had before. */
  replace(machine: SimulatedMachine): SimulatedMachine {
    const host = this.hostOf(machine);
    this.#replacements += 1;
    const successor =
      machine.group === undefined
        ? { ...host, machine: { ...machine } }
        : successorOf(host, machine.group.max + machine.group.desired + this.#replacements);
    this.terminate(machine);
    this.launch(successor.machine, successor);
    return successor.machine;
  }

  /** A machine whose model asks for no notice gets none. */
  announceEnd(machine: SimulatedMachine): () => boolean {
    const { noticeSeconds, resourceName } = this.hostOf(machine);
    if (noticeSeconds === undefined) return () => true;
    const id = uuid(machine.urn, machine.id, "Terminate");
    const NotBefore = new Date(Date.now() + noticeSeconds * 1000).toUTCString();
    const event = { EventId: id, EventType: "Terminate", NotBefore, Resources: [resourceName] } as const;
    this.events.set(machine.group?.name ?? "", [...this.#eventsOf(machine), event]);
    return () =>
      !this.#eventsOf(machine).some(({ EventId, EventStatus }) => EventId === id && EventStatus === undefined);
  }

  #eventsOf({ group }: SimulatedMachine) {
    return this.events.get(group?.name ?? "") ?? [];
  }
}

/** What programs have made but machines: an update deletes the roles that it replaced only at its end. */
class Programs {
  #all: readonly RecordedProgram[] = [];
  readonly #roles = new Map<string, readonly HeldRole[]>();
  readonly secrets = new Map<string, StoredValue>();

  constructor(first: RecordedProgram) {
    this.update(first);
  }

  get scaleSets() {
    const type = "azure-native:compute:VirtualMachineScaleSet";
    const sets = this.#all.flatMap((each) => resourcesOfType(each, type));
    return sets.map(({ id = "", inputs }) => {
      const { computerNamePrefix } = mapOf(mapOf(inputs.virtualMachineProfile).osProfile);
      return { id, computerNamePrefix: textOf(computerNamePrefix) ?? "" };
    });
  }

  allow(principalId: string, request: AzureRequest): boolean {
    const roles = this.#roles.get(principalId) ?? this.#all.flatMap((each) => rolesOf(each, principalId));
    this.#roles.set(principalId, roles);
    return rolesAllow(roles, request);
  }

  update(next: RecordedProgram): void {
    const before = this.#all.at(-1);
    this.#all = [...this.#all, next];
    this.#roles.clear();
    // What machines have written stays where the program does not change the value.
    const known = before && collectVaultSecrets(before);
    for (const [url, { value }] of collectVaultSecrets(next))
      if (known?.get(url)?.value !== value)
        this.secrets.set(url, { value, version: (this.secrets.get(url)?.version ?? 0) + 1 });
  }

  endUpdate(): void {
    this.#all = this.#all.slice(-1);
    this.#roles.clear();
  }
}

function instanceOf(program: RecordedProgram, host: AzureHost): CloudInstance {
  const { privateIp: address, region, size: instanceType, zone } = host.machine;
  return {
    ...{ providerId: providerId(host), region, instanceType, address, ofCluster: inCloudConfig(program, host) },
    // Without a zone the cloud controller takes the fault domain (kubernetes-sigs/cloud-provider-azure:
    // azure_zones.go).
    zone: zone === "" ? "0" : `${region}-${zone}`,
  };
}

function collectIdentities(program: RecordedProgram): readonly AzureIdentity[] {
  return resourcesOfType(program, "azure-native:managedidentity:UserAssignedIdentity").map(({ id, outputs }) => ({
    id: id ?? "",
    clientId: textOf(outputs.clientId) ?? "",
    principalId: textOf(outputs.principalId) ?? "",
  }));
}

/**
 * Resource group in lower case, the rest as Azure has it (kubernetes-sigs/cloud-provider-azure:
 * convertResourceGroupNameToLower).
 */
function providerId({ resourceId }: AzureHost): string {
  const lower = resourceId.replace(
    /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+/i,
    (prefix) =>
      `/subscriptions/${prefix.split("/")[2]?.toLowerCase()}/resourceGroups/${prefix.split("/")[4]?.toLowerCase()}`,
  );
  return `azure://${lower}`;
}

/**
 * Whether the cloud controller would find the machine by its configuration from the program: in that resource group,
 * and outside of scale sets only unless disabled (kubernetes-sigs/cloud-provider-azure: topics/node-types.md).
 */
function inCloudConfig(program: RecordedProgram, { resourceGroup, machine }: AzureHost): boolean {
  const secret = resourcesOfType(program, "kubernetes:core/v1:Secret").find(
    ({ inputs }) => textOf(mapOf(inputs.metadata).name) === "azure-cloud-provider",
  );
  const text = textOf(mapOf(secret?.inputs.stringData)["cloud-config"]);
  if (text === undefined) return false;
  const config: {
    readonly resourceGroup?: string;
    readonly vmType?: string;
    readonly disableAvailabilitySetNodes?: boolean;
  } = JSON.parse(text);
  const inGroup = same(config.resourceGroup, resourceGroup);
  return machine.group === undefined
    ? inGroup && config.disableAvailabilitySetNodes !== true
    : inGroup && config.vmType === "vmss";
}

/** Reads a secret as a machine's scripts do: with a token from the metadata service, by any of its identities. */
async function readSecret(
  machine: SimulatedMachine,
  url: string,
  identities: readonly AzureIdentity[],
  { metadata, endpoints }: { readonly metadata: EndpointHandler; readonly endpoints: EndpointHandler },
): Promise<string> {
  const common = { caller: machine.privateIp, method: "GET", body: Buffer.alloc(0) };
  let refusal = `${machine.id} has no identity`;
  for (const { clientId } of identities) {
    const query = `api-version=2018-02-01&client_id=${clientId}&resource=https%3A%2F%2Fvault.azure.net`;
    const token = await metadata({
      ...common,
      host: "169.254.169.254",
      url: `/metadata/identity/oauth2/token?${query}`,
      headers: { metadata: "true" },
    });
    const { host, pathname } = new URL(url);
    const answer = await endpoints({
      ...common,
      host,
      url: `${pathname}?api-version=7.4`,
      headers: { authorization: `Bearer ${textIn(token, "access_token")}` },
    });
    if (answer.status === 200) return textIn(answer, "value");
    refusal = `${url} for ${machine.id}: ${answer.status} ${String(answer.body ?? "")}`;
  }
  throw new Error(refusal);
}

function textIn({ body }: EndpointAnswer, key: string): string {
  const document: unknown = JSON.parse(String(body ?? "{}"));
  const value =
    typeof document === "object" && document !== null ? new Map(Object.entries(document)).get(key) : undefined;
  return typeof value === "string" ? value : "";
}

/**
 * Where the platform answers machines: name server, health probes, agents (Microsoft Learn: "What is IP address
 * 168.63.129.16?").
 */
const platformAddress = "168.63.129.16";
