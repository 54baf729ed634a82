import { mapOf, resourcesOfType, textOf } from "../../../components/gates/resources.ts";
import { startedScript } from "../../../plan/decode/userData.ts";
import {
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
import type { CloudSimulation } from "../cloud.ts";
import type { EndpointAnswer, EndpointHandler } from "../server.ts";
import { azureApi, managementHost } from "./api.ts";
import { azureBalancers } from "./balancers.ts";
import {
  type AzureIdentity,
  azureAddresses,
  azureMetadata,
  type ScheduledEvent,
  type ScheduledEvents,
} from "./metadata.ts";
import { type AzureCloud, type StoredValue, TokenIssuer } from "./state.ts";

/**
 * Azure as the machines of a program see it.
 * @param events what the platform is about to do. Default: nothing.
 */
export function simulateAzure(program: RecordedProgram, events: ScheduledEvents = new Map()): CloudSimulation {
  const hosts = new Map(collectAzureHosts(program).map((host) => [host.machine.privateIp, host]));
  const machines = [...hosts.values()].map(({ machine }) => machine);
  for (const { os, machine } of hosts.values()) if (os === "windows") startedScript(machine.startCommand);
  const hostOf = (machine: SimulatedMachine): AzureHost => {
    const host = hosts.get(machine.privateIp);
    if (host === undefined) throw new Error(`there is no machine ${machine.id}`);
    return host;
  };
  const identities = collectIdentities(program);
  const identitiesOf = (host: AzureHost): readonly AzureIdentity[] =>
    identities.filter(({ id }) => host.identities.some((own) => same(own, id)));
  const tokens = new TokenIssuer();
  const metadata = azureMetadata({
    subscriptionId: /^\/subscriptions\/([^/]+)/.exec([...hosts.values()][0]?.resourceId ?? "")?.[1] ?? "",
    hostAt: (address) => hosts.get(address),
    identitiesOf,
    tokens,
    events,
  });
  const eventsOf = ({ group }: SimulatedMachine) => events.get(group?.name ?? "") ?? [];
  const setEvents = ({ group }: SimulatedMachine, all: readonly ScheduledEvent[]) =>
    void events.set(group?.name ?? "", all);
  /** A machine whose model asks for no notice gets none. */
  const announceEnd = (machine: SimulatedMachine): (() => boolean) => {
    const { noticeSeconds, resourceName } = hostOf(machine);
    if (noticeSeconds === undefined) return () => true;
    const id = uuid(machine.urn, machine.id, "Terminate");
    const NotBefore = new Date(Date.now() + noticeSeconds * 1000).toUTCString();
    const event = { EventId: id, EventType: "Terminate", NotBefore, Resources: [resourceName] } as const;
    setEvents(machine, [...eventsOf(machine), event]);
    return () => !eventsOf(machine).some(({ EventId, EventStatus }) => EventId === id && EventStatus === undefined);
  };
  const models = new Map<string, SimulatedMachine>();
  const cloud = cloudOf(program, hosts, tokens, models, (host) => void announceEnd(host.machine));
  const endpoints = azureApi(cloud);
  const launch = (host: AzureHost): void => {
    machines.push(host.machine);
    hosts.set(host.machine.privateIp, host);
    // It exists from now on, not from the first question about it.
    cloud.madeAt(host);
  };
  const terminate = (machine: SimulatedMachine): void => {
    const { resourceId, resourceName } = hostOf(machine);
    // Its number may come back.
    cloud.deleting.delete(resourceId.toLowerCase());
    const left = eventsOf(machine).filter(({ Resources }) => !Resources.includes(resourceName));
    setEvents(machine, left);
    machines.splice(machines.indexOf(machine), 1);
    hosts.delete(machine.privateIp);
  };
  const coming = new Map<SimulatedMachine, AzureHost>();
  let replacements = 0;
  return {
    machines,
    replace: (machine) => {
      // A VM keeps its name; an instance of a scale set gets a number that none had before.
      const host = hostOf(machine);
      replacements += 1;
      const successor =
        machine.group === undefined
          ? { ...host, machine: { ...machine } }
          : successorOf(host, machine.group.max + machine.group.desired + replacements);
      terminate(machine);
      launch(successor);
      return successor.machine;
    },
    // A release's update changes neither vaults nor accounts: its scripts are in the user data.
    update: (next) => {
      cloud.update(next);
      const wanted = collectAzureHosts(next, undefined, machines);
      for (const host of wanted) coming.set(host.machine, host);
      for (const { machine } of wanted) if (machine.group !== undefined) models.set(machine.group.name, machine);
      return wanted.map(({ machine }) => machine);
    },
    endUpdate: cloud.endUpdate,
    launch: (machine) => {
      const host = coming.get(machine);
      if (host === undefined) throw new Error(`no update asks for ${machine.id}`);
      launch(host);
    },
    terminate,
    announceEnd,
    // A rolling upgrade is part of each update of the set.
    endRoll: () => undefined,
    metadata,
    nameServer: () => platformAddress,
    platform: { address: platformAddress, handle: azureAddresses((address) => hosts.get(address)) },
    hosts: [...cloud.vaults.map(({ host }) => host), ...cloud.accounts.map(({ host }) => host), managementHost],
    endpoints,
    balancers: azureBalancers(program),
    identity: (machine) => {
      const host = hostOf(machine);
      return { nodeName: host.computerName.toLowerCase(), providerId: providerId(host) };
    },
    instance: (machine) => {
      const host = hostOf(machine);
      return {
        providerId: providerId(host),
        // Without a zone the cloud controller takes the fault domain (kubernetes-sigs/cloud-provider-azure:
        // azure_zones.go).
        zone: machine.zone === "" ? "0" : `${machine.region}-${machine.zone}`,
        region: machine.region,
        instanceType: machine.size,
        address: machine.privateIp,
        ofCluster: inCloudConfig(program, host),
      };
    },
    objects: () => () => undefined,
    readSecret: (machine, name, as) => {
      const identities = identitiesOf(hostOf(machine)).filter(({ clientId }) => as === undefined || clientId === as);
      return readSecret(machine, name, identities, { metadata, endpoints });
    },
    calls: cloud.calls,
    readAction: "Microsoft.KeyVault/vaults/secrets/getSecret/action",
    secretNames: () => [...cloud.secrets.keys()],
    // The extension connects from inside its machine (Azure/applicationhealth-extension-linux v2.0.29: main/health.go).
    inService: async (machine, listens) => {
      const port = healthPortOf(hostOf(machine).extensions);
      return port !== undefined && (await listens(port));
    },
  };
}

function cloudOf(
  program: RecordedProgram,
  hosts: ReadonlyMap<string, AzureHost>,
  tokens: TokenIssuer,
  models: ReadonlyMap<string, SimulatedMachine>,
  announce: (host: AzureHost) => void,
): AzureCloud & Pick<CloudSimulation, "endUpdate"> & { readonly update: (next: RecordedProgram) => void } {
  const deleting = new Set<string>();
  const made = new Map<AzureHost, Date>();
  const madeAt = (host: AzureHost): Date => {
    const time = made.get(host) ?? new Date();
    made.set(host, time);
    return time;
  };
  for (const host of hosts.values()) madeAt(host);
  const roles = new Map<string, readonly HeldRole[]>();
  const rolesFor = (principalId: string): readonly HeldRole[] => {
    const known = roles.get(principalId) ?? programs.flatMap((each) => rolesOf(each, principalId));
    roles.set(principalId, known);
    return known;
  };
  const secrets = new Map<string, StoredValue>();
  let programs: readonly RecordedProgram[] = [];
  const update = (next: RecordedProgram): void => {
    const before = programs.at(-1);
    programs = [...programs, next];
    roles.clear();
    // What machines have written stays where the program does not change the value.
    const known = before && collectVaultSecrets(before);
    for (const [url, { value }] of collectVaultSecrets(next))
      if (known?.get(url)?.value !== value) secrets.set(url, { value, version: (secrets.get(url)?.version ?? 0) + 1 });
  };
  update(program);
  return {
    update,
    // An update deletes the roles that it replaced only at its end.
    endUpdate: () => {
      programs = programs.slice(-1);
      roles.clear();
    },
    hostAt: (address) => hosts.get(address),
    hosts: () => hosts.values(),
    scaleSets: () =>
      programs.flatMap((each) =>
        resourcesOfType(each, "azure-native:compute:VirtualMachineScaleSet").map(({ id = "", inputs }) => {
          const { computerNamePrefix } = mapOf(mapOf(inputs.virtualMachineProfile).osProfile);
          return { id, computerNamePrefix: textOf(computerNamePrefix) ?? "" };
        }),
      ),
    sets: new Map(),
    deleting,
    end: (host) => {
      deleting.add(host.resourceId.toLowerCase());
      announce(host);
    },
    madeAt,
    modelOf: ({ machine }) => models.get(machine.group?.name ?? "") ?? machine,
    tokens,
    authorize: (principalId, request) => rolesAllow(rolesFor(principalId), request),
    vaults: [...collectVaults(program), ...collectOtherVaults(program)],
    secrets,
    accounts: collectAccounts(program),
    blobs: new Map(),
    calls: [],
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
