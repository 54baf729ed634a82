import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv4 } from "node:net";

/** A look-up of a host that does not exist. */
export interface LookUp {
  /** Address of the machine or pod that asked. */
  readonly caller: string;
  readonly name: string;
}

/** Length of a DNS header, and of type and class behind a question's name (RFC 1035, 4.1). */
const headerLength = 12;
const typeAndClass = 4;
/** Responses to a query with recursion (RFC 1035, 4.1.1): without an error, and that the name does not exist. */
const noError = 0x8180;
const noSuchName = 0x8183;
/** Types of records (RFC 1035, 3.2.2; RFC 3596). */
const typeA = 1;
const typeAaaa = 28;
/**
 * Behind the header of an answer's record: the name at offset 12, type A, class IN, 60 s, four bytes (RFC 1035, 4.1.3
 * and 4.1.4).
 */
const recordOfA = [0xc0, headerLength, 0, typeA, 0, 1, 0, 0, 0, 60, 0, 4];

/** Settings of {@link startNameServer}. */
export interface NameServerOptions {
  readonly address: string;
  /** Default: 53. */
  readonly port?: number;
  /** IPv4 address of a host for who asks; `undefined` when there is no such host. */
  readonly find: (name: string, caller: string) => string | undefined;
}

/**
 * The name server of a simulated network. Of names that it does not know it says so at once, and keeps whose addresses
 * it was asked for.
 *
 * @returns a live list
 */
export async function startNameServer(options: NameServerOptions): Promise<readonly LookUp[]> {
  const { address, port = 53, find } = options;
  const lookUps: LookUp[] = [];
  const socket = createSocket("udp4");
  await once(socket.bind(port, address), "listening");
  socket.unref();
  socket.on("message", (query, { address: caller, port: back }) => {
    const read = answerQuery(query, (name) => find(name, caller));
    if (read === undefined) return;
    // CoreDNS also asks for other things than addresses, of names that are random numbers (coredns: plugin/loop).
    if (!read.found && [typeA, typeAaaa].includes(read.type)) lookUps.push({ caller, name: read.name });
    socket.send(read.answer, back, caller);
  });
  return lookUps;
}

/** What a query asks for, and its answer. */
interface AnsweredQuery {
  readonly name: string;
  readonly type: number;
  /** Whether there is such a name. */
  readonly found: boolean;
  readonly answer: Buffer;
}

/** Reads a query and answers it by the address of its name; `undefined` for what is no query. Pure. */
function answerQuery(query: Buffer, find: (name: string) => string | undefined): AnsweredQuery | undefined {
  const labels: string[] = [];
  let at = headerLength;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const end = at + 1 + typeAndClass;
  if (query.length < end) return undefined;
  const name = labels.join(".").toLowerCase();
  const type = query.readUInt16BE(at + 1);
  const address = find(name);
  const record = type === typeA && address !== undefined && isIPv4(address) ? recordTo(address) : Buffer.alloc(0);
  const head = Buffer.from(query.subarray(0, end));
  head.writeUInt16BE(address === undefined ? noSuchName : noError, 2);
  // One question, at most one answer, and nothing in the two other sections.
  head.fill(0, 4, headerLength);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(Math.sign(record.length), 6);
  return { name, type, found: address !== undefined, answer: Buffer.concat([head, record]) };
}

function recordTo(address: string): Buffer {
  return Buffer.from([...recordOfA, ...address.split(".").map(Number)]);
}
