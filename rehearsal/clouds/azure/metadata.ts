import type { AzureHost } from "../../../plan/fakes/azureMachines.ts";
import { uuid } from "../../../plan/fakes/identifiers.ts";
import { macOf } from "../../host/network.ts";
import type { EndpointAnswer, EndpointHandler, EndpointRequest } from "../server.ts";
import { jsonAnswer, type TokenIssuer } from "./state.ts";

/** A user-assigned identity of the program. */
export interface AzureIdentity {
  /** Resource id. */
  readonly id: string;
  readonly clientId: string;
  readonly principalId: string;
}

/** What the platform is about to do to a machine (Azure, "Scheduled Events"). */
export interface ScheduledEvent {
  readonly EventId: string;
  readonly EventType: "Terminate" | "Preempt" | "Reboot" | "Redeploy" | "Freeze";
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

const versions: Readonly<Record<string, readonly string[]>> = {
  "/metadata/instance": [
    "2017-12-01",
    "2019-03-11",
    "2020-09-01",
    "2021-01-01",
    "2021-02-01",
    "2021-10-01",
    "2021-12-13",
  ],
  "/metadata/identity/oauth2/token": ["2018-02-01", "2019-08-01"],
  "/metadata/scheduledevents": ["2019-01-01", "2019-08-01", "2020-07-01"],
};

/**
 * The instance metadata service, which refuses requests without `Metadata: true` or through a proxy (Azure Instance
 * Metadata Service, "Security and authentication").
 */
export function azureMetadata(cloud: AzureMetadata): EndpointHandler {
  return (request) => {
    const host = cloud.hostAt(request.caller);
    if (host === undefined) return { status: 404 };
    if (request.headers.metadata?.toLowerCase() !== "true")
      return failure(400, "Bad request. Required metadata header not specified");
    if (request.headers["x-forwarded-for"] !== undefined)
      return failure(400, "Bad request. X-Forwarded-For header is not allowed");
    const [rawPath = "", search = ""] = request.url.split("?");
    const path = rawPath.replace(/\/$/, "");
    const query = new URLSearchParams(search);
    const [service = path, leaf] = /^(\/metadata\/instance)\/(.+)$/.exec(path)?.slice(1) ?? [];
    const known = versions[service];
    if (known === undefined) return failure(404, "Not found");
    const version = query.get("api-version");
    if (version === null || !known.includes(version)) {
      return jsonAnswer(400, {
        error: "Bad request. api-version was not specified in the request or is not known",
        "newest-versions": [...known].reverse(),
      });
    }
    if (service === "/metadata/instance") return instance(instanceDocument(cloud, host), leaf, query.get("format"));
    if (path === "/metadata/scheduledevents") return scheduledEvents(cloud, host, request);
    return token(cloud, host, query);
  };
}

function failure(status: number, error: string): EndpointAnswer {
  return jsonAnswer(status, { error });
}

function token(cloud: AzureMetadata, host: AzureHost, query: URLSearchParams): EndpointAnswer {
  const refused = (description: string) =>
    jsonAnswer(400, { error: "invalid_request", error_description: description });
  const resource = query.get("resource");
  if (resource === null || resource === "") return refused("Required query variable 'resource' is missing");
  const own = cloud.identitiesOf(host);
  const clientId = query.get("client_id");
  if (clientId === null && own.length > 1)
    return refused(
      "Multiple user assigned identities exist, please specify the clientId / resourceId of the identity in the token request",
    );
  const identity = clientId === null ? own[0] : own.find((item) => item.clientId === clientId);
  if (identity === undefined) return refused("Identity not found");
  const now = Date.now();
  const { token: text, claims } = cloud.tokens.issue(resource, identity.principalId, now);
  const seconds = (ms: number) => String(Math.floor(ms / 1000));
  return jsonAnswer(200, {
    access_token: text,
    client_id: identity.clientId,
    expires_in: seconds(claims.expires - now),
    expires_on: seconds(claims.expires),
    ext_expires_in: seconds(claims.expires - now),
    not_before: seconds(now),
    resource,
    token_type: "Bearer",
  });
}

function scheduledEvents(cloud: AzureMetadata, host: AzureHost, request: EndpointRequest): EndpointAnswer {
  const group = host.machine.group?.name ?? host.resourceName;
  const events = cloud.events.get(group) ?? [];
  if (request.method === "GET") {
    const common = { EventStatus: "Scheduled", ResourceType: "VirtualMachine", NotBefore: "", Description: "" };
    const shown = events.map((event) => ({ ...common, ...(isOver(event) ? started(event) : event) }));
    return jsonAnswer(200, { DocumentIncarnation: events.length, Events: shown });
  }
  if (request.method !== "POST") return failure(405, "Method not allowed");
  const approved = request.body.toString("utf8");
  if (!/^\{"StartRequests": ?\[\{"EventId": ?"[^"]+"\}\]\}$/.test(approved)) return failure(400, "Bad request");
  cloud.events.set(
    group,
    events.map((event) => (approved.includes(`"${event.EventId}"`) ? started(event) : event)),
  );
  return { status: 200 };
}

function isOver({ NotBefore }: ScheduledEvent): boolean {
  return NotBefore !== undefined && Date.parse(NotBefore) <= Date.now();
}

/**
 * An event that was approved, or whose time is over: listed without a time until it has ended
 * (MicrosoftDocs/azure-compute-docs: articles/virtual-machines/linux/scheduled-events.md, "Event properties").
 */
function started({ NotBefore: _, ...event }: ScheduledEvent): ScheduledEvent {
  return { ...event, EventStatus: "Started" };
}

/**
 * The whole document as JSON, or what a path leads to: a text only on request (Azure Instance Metadata Service, "Data
 * format").
 */
function instance(document: unknown, leaf: string | undefined, format: string | null): EndpointAnswer {
  if (leaf === undefined) return jsonAnswer(200, document);
  const found = leaf
    .split("/")
    .reduce((node: unknown, key) => new Map(Object.entries(Object(node))).get(key), document);
  if (found === undefined) return failure(404, "Not found");
  if (typeof found !== "object" && format !== "text")
    return failure(400, "Bad request. The requested format is not supported");
  return format === "text" && typeof found === "string"
    ? { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: found }
    : jsonAnswer(200, found);
}

/** The document as Azure lays it out, with the names of version 2021-02-01. */
function instanceDocument({ subscriptionId }: AzureMetadata, host: AzureHost): unknown {
  const { machine, image } = host;
  const own = host.subnet.outputs;
  const [address = "", prefix = ""] = String(own.addressPrefix ?? "").split("/");
  const addresses = [machine.privateIp, ...(machine.secondaryIps ?? [])];
  const tags = Object.entries(machine.tags).map(([name, value]) => ({ name, value }));
  return {
    compute: {
      azEnvironment: "AzurePublicCloud",
      location: machine.region,
      name: host.resourceName,
      offer: image.offer ?? "",
      osProfile: {
        adminUsername: "",
        computerName: host.computerName,
        disablePasswordAuthentication: String(host.os === "linux"),
      },
      osType: host.os === "windows" ? "Windows" : "Linux",
      placementGroupId: "",
      platformFaultDomain: "0",
      platformUpdateDomain: "0",
      provider: "Microsoft.Compute",
      publisher: image.publisher ?? "",
      resourceGroupName: host.resourceGroup,
      resourceId: host.resourceId,
      sku: image.sku ?? "",
      subscriptionId,
      tags: tags.map(({ name, value }) => `${name}:${value}`).join(";"),
      tagsList: tags,
      version: image.version ?? "",
      vmId: uuid(machine.urn, machine.id),
      vmScaleSetName: machine.group?.name ?? "",
      vmSize: machine.size,
      zone: machine.zone,
    },
    network: {
      interface: [
        {
          ipv4: {
            ipAddress: addresses.map((privateIpAddress) => ({ privateIpAddress, publicIpAddress: "" })),
            subnet: [{ address, prefix }],
          },
          ipv6: { ipAddress: [] },
          macAddress: "6045BD000000",
        },
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
