import type { AzureHost } from "../../../plan/fakes/azureMachines.ts";
import { macOf } from "../../host/network.ts";
import type { EndpointAnswer, EndpointHandler, EndpointRequest } from "../server.ts";
import { azureError, jsonAnswer, type TokenIssuer } from "./state.ts";

/** A user-assigned identity of the program. */
export interface AzureIdentity {
  /** Resource id. */
  readonly id: string;
  readonly clientId: string;
  readonly principalId: string;
}

/** What the platform is about to do to a machine (Azure, "Scheduled Events"). */
interface ScheduledEvent {
  readonly EventId: string;
  readonly EventType: "Terminate";
  /** Names of its machines: `<set>_<instance>`. */
  readonly Resources: readonly string[];
  /** When it begins at the latest. Default: it has begun. */
  readonly NotBefore?: string;
  /** Default: it begins at its time. */
  readonly EventStatus?: "Started";
}

/**
 * Events by placement group: the name of a scale set, or of a machine outside of one. Every machine of the group sees
 * all, and may approve any (MicrosoftDocs/azure-compute-docs: articles/virtual-machines/linux/scheduled-events.md,
 * "Scope").
 */
export type ScheduledEvents = Map<string, readonly ScheduledEvent[]>;

interface AzureMetadata {
  readonly subscriptionId: string;
  readonly hostAt: (address: string) => AzureHost | undefined;
  readonly identitiesOf: (host: AzureHost) => readonly AzureIdentity[];
  readonly tokens: TokenIssuer;
  /** An approval starts one. */
  readonly events: ScheduledEvents;
}

/** What machines ask, and the version that they ask for. */
const versions: Readonly<Record<string, string>> = {
  "/metadata/instance": "2021-02-01",
  "/metadata/instance/compute/name": "2021-02-01",
  "/metadata/identity/oauth2/token": "2018-02-01",
  "/metadata/scheduledevents": "2020-07-01",
};

/**
 * The instance metadata service, which refuses requests without `Metadata: true` (Azure Instance Metadata Service,
 * "Security and authentication"), and a text in place of JSON unless it is asked for ("Data format").
 */
export function azureMetadata(cloud: AzureMetadata): EndpointHandler {
  return (request) => {
    const host = cloud.hostAt(request.caller);
    if (host === undefined) return { status: 404 };
    if (request.headers.metadata?.toLowerCase() !== "true")
      return azureError(400, "Required metadata header not specified");
    const [path = "", search = ""] = request.url.split("?");
    const query = new URLSearchParams(search);
    const version = versions[path];
    if (version === undefined) return azureError(404, "Not found");
    if (query.get("api-version") !== version) return azureError(400, `No simulation but of ${version}`);
    if (path === "/metadata/scheduledevents") return scheduledEvents(cloud, host, request);
    if (path === "/metadata/identity/oauth2/token") return token(cloud, host, query);
    if (path === "/metadata/instance") return jsonAnswer(200, instanceDocument(cloud, host));
    return query.get("format") === "text"
      ? { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: host.resourceName }
      : azureError(400, "The requested format is not supported");
  };
}

function token(cloud: AzureMetadata, host: AzureHost, query: URLSearchParams): EndpointAnswer {
  const resource = query.get("resource") ?? "";
  const identity = cloud.identitiesOf(host).find(({ clientId }) => clientId === query.get("client_id"));
  if (identity === undefined) return azureError(400, "Identity not found");
  const now = Date.now();
  const { token: text, claims } = cloud.tokens.issue(resource, identity.principalId, now);
  const seconds = (ms: number) => String(Math.floor(ms / 1000));
  return jsonAnswer(200, {
    access_token: text,
    client_id: identity.clientId,
    expires_in: seconds(claims.expires - now),
    expires_on: seconds(claims.expires),
    resource,
    token_type: "Bearer",
  });
}

function scheduledEvents(cloud: AzureMetadata, host: AzureHost, request: EndpointRequest): EndpointAnswer {
  const group = host.machine.group?.name ?? host.resourceName;
  const events = cloud.events.get(group) ?? [];
  if (request.method === "GET") {
    const shown = events.map((event) => ({
      ...{ EventStatus: "Scheduled", ResourceType: "VirtualMachine", NotBefore: "" },
      ...(event.NotBefore !== undefined && Date.parse(event.NotBefore) <= Date.now() ? started(event) : event),
    }));
    return jsonAnswer(200, { DocumentIncarnation: events.length, Events: shown });
  }
  const approved = request.body.toString("utf8");
  if (!/^\{"StartRequests": ?\[\{"EventId": ?"[^"]+"\}\]\}$/.test(approved)) return azureError(400, "Bad request");
  const after = events.map((event) => (approved.includes(`"${event.EventId}"`) ? started(event) : event));
  cloud.events.set(group, after);
  return { status: 200 };
}

/**
 * An event that was approved, or whose time is over: listed without a time until it has ended
 * (MicrosoftDocs/azure-compute-docs: articles/virtual-machines/linux/scheduled-events.md, "Event properties").
 */
function started({ NotBefore: _, ...event }: ScheduledEvent): ScheduledEvent {
  return { ...event, EventStatus: "Started" };
}

/** What is read of the document of version 2021-02-01, among keys and values that a user chooses. */
function instanceDocument({ subscriptionId }: AzureMetadata, host: AzureHost): unknown {
  const { machine, computerName } = host;
  const addresses = [machine.privateIp, ...(machine.secondaryIps ?? [])];
  const tagsList = Object.entries(machine.tags).map(([name, value]) => ({ name, value }));
  return {
    compute: {
      location: machine.region,
      name: host.resourceName,
      osProfile: { computerName },
      resourceGroupName: host.resourceGroup,
      resourceId: host.resourceId,
      subscriptionId,
      tags: tagsList.map(({ name, value }) => `${name}:${value}`).join(";"),
      tagsList,
      vmScaleSetName: machine.group?.name ?? "",
      zone: machine.zone,
    },
    network: {
      interface: [
        { ipv4: { ipAddress: addresses.map((privateIpAddress) => ({ privateIpAddress, publicIpAddress: "" })) } },
      ],
    },
  };
}

/** The question of Azure's IPAM plug-in (Azure/azure-container-networking v1.6.48: ipam/azure.go, azureQueryUrl). */
const question = "/machine/plugins?comp=nmagent&type=getinterfaceinfov1";

/**
 * The addresses of the caller's network interface, in the form that the IPAM plug-in reads (the same, common/ioutil.go,
 * XmlDocument; an example is in ipam/azure_test.go).
 */
export function azureAddresses(hostAt: (address: string) => AzureHost | undefined): EndpointHandler {
  return ({ caller, url }) => {
    const host = hostAt(caller);
    if (host === undefined || url !== question) return { status: 404 };
    const { privateIp, secondaryIps = [] } = host.machine;
    const mac = macOf(privateIp).replaceAll(":", "").toUpperCase();
    const addresses = [privateIp, ...secondaryIps].map(
      (address, index) => `<IPAddress Address="${address}" IsPrimary="${index === 0}"/>`,
    );
    const subnet = `<IPSubnet Prefix="${String(host.subnet.inputs.addressPrefix ?? "")}">${addresses.join("")}</IPSubnet>`;
    const body = `<Interfaces><Interface MacAddress="${mac}" IsPrimary="true">${subnet}</Interface></Interfaces>`;
    return { status: 200, headers: { "content-type": "text/xml; charset=utf-8" }, body };
  };
}
