import {
  listOf,
  mapOf,
  numberOf,
  type PropertyMap,
  type PropertyValue,
  resourcesOfType,
  textOf,
} from "../../../components/gates/values.ts";
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
import { type AzureHost, collectAzureHosts, successorOf } from "../../../plan/fakes/azureMachines.ts";
import { uuid } from "../../../plan/fakes/identifiers.ts";
import type { SimulatedMachine } from "../../../plan/fakes/machines.ts";
import type { RecordedProgram, RecordedResource } from "../../../plan/program/recorded.ts";
import type { HealthRules } from "../../host/loadBalancer.ts";
import type { CloudInstance, CloudSimulation, SimulatedBalancer } from "../cloud.ts";
import { azureApi, managementHost } from "./api.ts";
import { type AzureIdentity, azureAddresses, azureMetadata, type ScheduledEvents } from "./metadata.ts";
import { type AzureCloud, type StoredValue, TokenIssuer } from "./state.ts";
import { readSecret } from "./stores.ts";

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

/**
 * Where the platform answers machines: name server, health probes, agents (Microsoft Learn: "What is IP address
 * 168.63.129.16?").
 */
const platformAddress = "168.63.129.16";

/**
 * The load balancers of a program on Azure, one per rule. An internal one is named by the record of a private DNS zone
 * with its address, a public one by its public address.
 * @throws Error when machines could resolve no name of one, or its probe is not HTTPS
 */
function azureBalancers(program: RecordedProgram): readonly SimulatedBalancer[] {
  return resourcesOfType(program, "azure-native:network:LoadBalancer").flatMap((balancer) =>
    listOf(balancer.inputs.loadBalancingRules).map((rule) => simulatedBalancer(program, balancer, mapOf(rule))),
  );
}

function simulatedBalancer(program: RecordedProgram, balancer: RecordedResource, rule: PropertyMap): SimulatedBalancer {
  const { outputs, name } = balancer;
  const frontend = part(outputs.frontendIPConfigurations, rule.frontendIPConfiguration, name);
  const pool = part(outputs.backendAddressPools, rule.backendAddressPool, name);
  const probe = part(outputs.probes, rule.probe, name);
  if (textOf(probe.protocol) !== "Https") throw new Error(`${name}: its probe is not HTTPS`);
  const publicAddress = textOf(mapOf(frontend.publicIPAddress).id);
  return {
    dnsName:
      publicAddress === undefined ? privateName(program, frontend, name) : publicName(program, publicAddress, name),
    port: numberOf(rule.frontendPort) ?? 0,
    targets: members(program, textOf(pool.id)).map((host) => ({ host, port: numberOf(rule.backendPort) ?? 0 })),
    health: healthRules(probe),
    // A connection that an internal load balancer sends back to its sender is lost (kubernetes/kubeadm#1685).
    answersTargets: publicAddress !== undefined,
  };
}

/**
 * Defaults of the API (Azure/azure-rest-api-specs: ProbePropertiesFormat). A probe ends with its interval, after 30
 * seconds at the latest.
 */
function healthRules(probe: PropertyMap): HealthRules {
  return {
    endsConnections: false,
    answerDecides: true,
    // The probe's own port (the same, `port`), whatever the rule's is.
    port: numberOf(probe.port) ?? 0,
    path: textOf(probe.requestPath) ?? "/",
    timeoutMs: Math.min(numberOf(probe.intervalInSeconds) || 15, 30) * 1000,
    healthyThreshold: 1,
    unhealthyThreshold: numberOf(probe.probeThreshold) || 1,
    failsOpen: textOf(probe.noHealthyBackendsBehavior) === "AllProbedUp",
  };
}

/** The part of the load balancer that a reference names by the last segment of its id. */
function part(list: PropertyValue | undefined, reference: PropertyValue | undefined, balancer: string): PropertyMap {
  const wanted = textOf(mapOf(reference).id)?.split("/").at(-1);
  const found = listOf(list)
    .map(mapOf)
    .find(({ name }) => same(textOf(name), wanted));
  if (found === undefined) throw new Error(`${balancer}: a rule refers to ${wanted}, which it does not have`);
  return found;
}

function members(program: RecordedProgram, pool: string | undefined): readonly string[] {
  return resourcesOfType(program, "azure-native:network:NetworkInterface")
    .flatMap(({ outputs }) => listOf(outputs.ipConfigurations).map(mapOf))
    .filter(({ loadBalancerBackendAddressPools }) =>
      listOf(loadBalancerBackendAddressPools).some((item) => same(textOf(mapOf(item).id), pool)),
    )
    .flatMap(({ privateIPAddress }) => textOf(privateIPAddress) ?? []);
}

function privateName(program: RecordedProgram, frontend: PropertyMap, balancer: string): string {
  const address = textOf(frontend.privateIPAddress);
  const record = resourcesOfType(program, "azure-native:privatedns:PrivateRecordSet").find(({ inputs }) =>
    listOf(inputs.aRecords).some((item) => textOf(mapOf(item).ipv4Address) === address),
  );
  const fqdn = textOf(record?.outputs.fqdn);
  if (record === undefined || fqdn === undefined)
    throw new Error(`${balancer}: no record of a private DNS zone has its address ${address}`);
  const zone = textOf(record.inputs.privateZoneName);
  const linked = resourcesOfType(program, "azure-native:privatedns:VirtualNetworkLink").some(({ inputs }) =>
    same(textOf(inputs.privateZoneName), zone),
  );
  if (!linked) throw new Error(`the private DNS zone ${zone} is linked to no network, so that no machine can ask it`);
  return fqdn.replace(/\.$/, "");
}

function publicName(program: RecordedProgram, id: string, balancer: string): string {
  const address = resourcesOfType(program, "azure-native:network:PublicIPAddress").find((item) => same(item.id, id));
  const fqdn = textOf(mapOf(address?.outputs.dnsSettings).fqdn);
  if (fqdn === undefined) throw new Error(`${balancer}: its public address has no DNS name`);
  return fqdn;
}
