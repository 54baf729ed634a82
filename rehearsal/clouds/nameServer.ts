import { createSocket } from "node:dgram";

/** A name that was looked up. */
export interface LookUp {
  /** Address of the machine that asked. */
  readonly caller: string;
  readonly name: string;
}

/** Length of a DNS header, and of type and class behind a question's name (RFC 1035, 4.1). */
const headerLength = 12;
const typeAndClass = 4;
/** A response to a query with recursion, whose name does not exist (RFC 1035, 4.1.1). */
const noSuchName = 0x8183;

/**
 * A name server that knows no name. It says so at once and keeps what it was asked for.
 *
 * @returns a live list
 */
export async function startNameServer(address: string, port = 53): Promise<readonly LookUp[]> {
  const lookUps: LookUp[] = [];
  const socket = createSocket("udp4");
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, address, resolve);
  });
  socket.unref();
  socket.on("message", (query, { address: caller, port: back }) => {
    const read = readQuestion(query);
    if (read === undefined) return;
    lookUps.push({ caller, name: read.name });
    socket.send(read.refusal, back, caller);
  });
  return lookUps;
}

/** Name of a query, and the answer that there is no such name; `undefined` for what is no query. */
export function readQuestion(query: Buffer): { readonly name: string; readonly refusal: Buffer } | undefined {
  const labels: string[] = [];
  let at = headerLength;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const end = at + 1 + typeAndClass;
  if (query.length < end) return undefined;
  const refusal = Buffer.from(query.subarray(0, end));
  refusal.writeUInt16BE(noSuchName, 2);
  // One question, and nothing in the three other sections.
  refusal.writeUInt16BE(1, 4);
  refusal.fill(0, 6, headerLength);
  return { name: labels.join("."), refusal };
}
