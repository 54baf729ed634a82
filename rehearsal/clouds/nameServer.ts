import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv4 } from "node:net";
import { type Answer, type DecodedPacket, decode, encode, RECURSION_AVAILABLE, RECURSION_DESIRED } from "dns-packet";

/** A look-up of a host that does not exist. */
export interface LookUp {
  /** Address of the machine or pod. */
  readonly caller: string;
  readonly name: string;
}

interface NameServerOptions {
  readonly address: string;
  /** Default: 53. */
  readonly port?: number;
  /** IPv4 address of a host for the caller, if there is one. */
  readonly find: (name: string, caller: string) => string | undefined;
}

/**
 * The name server of a simulated network. It denies unknown names at once. @returns the look-ups of their addresses, a
 * live list
 */
export async function startNameServer(options: NameServerOptions): Promise<readonly LookUp[]> {
  const { address, port = 53, find } = options;
  const lookUps: LookUp[] = [];
  const socket = createSocket("udp4");
  await once(socket.bind(port, address), "listening");
  socket.unref();
  socket.on("message", (message, { address: caller, port: back }) => {
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
    socket.send(encode({ type: "response", id: query.id ?? 0, flags, questions: [question], answers }), back, caller);
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
