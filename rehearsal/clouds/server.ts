import { generateKeyPairSync } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { isIPv4 } from "node:net";
import { type Answer, type DecodedPacket, decode, encode, RECURSION_AVAILABLE, RECURSION_DESIRED } from "dns-packet";
import { type PropertyMap, textOf } from "../../components/gates/values.ts";
import { messageOf } from "../../components/model/messages.ts";
import { tlsResource } from "../../plan/fakes/tls.ts";

/** A request to a simulated endpoint. */
export interface EndpointRequest {
  /** Address of the caller, which identifies the machine, as in the cloud's fabric. */
  readonly caller: string;
  readonly method: string;
  /** Server that the caller meant. */
  readonly host: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface EndpointAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Answers requests. A thrown error becomes status 500 with its message. */
export type EndpointHandler = (request: EndpointRequest) => Promise<EndpointAnswer> | EndpointAnswer;

/** Certificate and key of a TLS endpoint, PEM. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
}

/** Listens on an address of the bridge, with TLS when an identity is given. */
export async function listen(
  address: string,
  port: number,
  handle: EndpointHandler,
  tls?: TlsIdentity,
): Promise<Server> {
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, handle).then(
      ({ status, headers, body }) =>
        response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body ?? "") }).end(body ?? ""),
      (error: unknown) => response.writeHead(500).end(messageOf(error)),
    );
  };
  const server = tls === undefined ? createHttpServer(onRequest) : createHttpsServer({ ...tls }, onRequest);
  await once(server.listen(port, address), "listening");
  return server;
}

async function answer(request: IncomingMessage, handle: EndpointHandler): Promise<EndpointAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(",") : (value ?? ""),
    ]),
  );
  return await handle({
    caller: (request.socket.remoteAddress ?? "").replace(/^::ffff:/, ""),
    method: request.method ?? "GET",
    host: (headers.host ?? "").replace(/:\d+$/, ""),
    url: request.url ?? "/",
    headers,
    body: Buffer.concat(chunks),
  });
}

/**
 * Most names in one answer. S3 gives up to 1,000 and Blob Storage up to 5,000, and either may give fewer (Amazon S3 API
 * Reference, ListObjectsV2; Azure documentation, "Enumerating Blob Resources"); with so few, even a small cluster's
 * snapshots need several pages.
 */
const pageLength = 2;

/** A part of a list in alphabetical order. */
interface Page {
  readonly names: readonly string[];
  /** Marker of the next page, empty at the end. A query cannot carry its characters as they are. */
  readonly next: string;
}

/**
 * A page of the names that begin with the prefix; `undefined` for a marker that no page gave.
 * @param marker `next` of the page before; none or empty: the first page
 */
export function pageOf(names: Iterable<string>, prefix: string, marker: string | null): Page | undefined {
  const after = marker ? readMarker(marker) : "";
  if (after === undefined) return undefined;
  const left = [...names].filter((name) => name.startsWith(prefix) && name > after).sort();
  const page = left.slice(0, pageLength);
  return { names: page, next: left.length > page.length ? markerAfter(page.at(-1) ?? "") : "" };
}

function markerAfter(name: string): string {
  return `1+/${Buffer.from(name).toString("base64")}=`;
}

function readMarker(marker: string): string | undefined {
  const name = Buffer.from(marker.slice(3, -1), "base64").toString();
  return markerAfter(name) === marker ? name : undefined;
}

/** A look-up of a host that does not exist. */
export interface LookUp {
  /** Address of the machine or pod. */
  readonly caller: string;
  readonly name: string;
}

interface NameServerOptions {
  readonly address: string;
  /** IPv4 address of a host for the caller, if there is one. */
  readonly find: (name: string, caller: string) => string | undefined;
}

/**
 * The name server of a simulated network. It denies unknown names at once. @returns the look-ups of their addresses, a
 * live list
 */
export async function startNameServer(options: NameServerOptions): Promise<readonly LookUp[]> {
  const { address, find } = options;
  const lookUps: LookUp[] = [];
  const socket = createSocket("udp4");
  await once(socket.bind(53, address), "listening");
  socket.unref();
  socket.on("message", (message, { address: caller, port }) => {
    const query = decoded(message);
    const question = query?.questions?.[0];
    if (query === undefined || question === undefined) return;
    const { type } = question;
    const name = question.name.toLowerCase();
    const found = find(name, caller);
    // CoreDNS also asks for other types, of random numbers (coredns: plugin/loop).
    if (found === undefined && (type === "A" || type === "AAAA")) lookUps.push({ caller, name });
    const answers: Answer[] =
      type === "A" && found !== undefined && isIPv4(found) ? [{ ...question, type, ttl: 60, data: found }] : [];
    const flags = RECURSION_DESIRED | RECURSION_AVAILABLE | (found === undefined ? noSuchName : 0);
    socket.send(encode({ type: "response", id: query.id ?? 0, flags, questions: [question], answers }), port, caller);
  });
  return lookUps;
}

/** Response code of RFC 1035, 4.1.1. */
const noSuchName = 3;

function decoded(message: Buffer): DecodedPacket | undefined {
  try {
    return decode(message);
  } catch {
    return undefined;
  }
}

export interface KeyAndCertificate {
  readonly certificate: string;
  readonly key: string;
}

interface ServerNames {
  readonly commonName: string;
  readonly organization?: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

const dayHours = { validityPeriodHours: 24, setSubjectKeyId: true };

/** An output of the simulated tls provider, with real keys. */
function made(type: string, output: string, inputs: PropertyMap): string {
  return (
    textOf(tlsResource({ type: `tls:index/${type}`, urn: "", inputs }, { certificates: "real" }).outputs[output]) ?? ""
  );
}

const newKey = (): string =>
  generateKeyPairSync("ec", { namedCurve: "prime256v1" })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString();

/** An authority for simulated endpoints: ECDSA P-256, valid for a day. */
export function newAuthority(commonName: string): KeyAndCertificate {
  const key = newKey();
  const allowedUses = ["cert_signing", "digital_signature"];
  const inputs = { ...dayHours, privateKeyPem: key, subject: { commonName }, allowedUses, isCaCertificate: true };
  return { certificate: made("selfSignedCert:SelfSignedCert", "certPem", inputs), key };
}

export function issueServerCertificate(authority: KeyAndCertificate, names: ServerNames): KeyAndCertificate {
  const { request, key } = newCertificateRequest(names);
  const issuer = { caCertPem: authority.certificate, caPrivateKeyPem: authority.key };
  const inputs = { ...dayHours, ...issuer, certRequestPem: request, allowedUses: ["digital_signature", "server_auth"] };
  return { certificate: made("locallySignedCert:LocallySignedCert", "certPem", inputs), key };
}

export function newCertificateRequest({ commonName, organization, dnsNames = [], ipAddresses = [] }: ServerNames) {
  const key = newKey();
  const subject = { commonName, ...(organization !== undefined && { organization }) };
  return {
    request: made("certRequest:CertRequest", "certRequestPem", { privateKeyPem: key, subject, dnsNames, ipAddresses }),
    key,
  };
}
