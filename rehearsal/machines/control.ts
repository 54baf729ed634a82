import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import path from "node:path";
import { messageOf } from "../../components/gates/messageOf.ts";

/** The answer to a fake command's call. */
export interface ControlAnswer {
  /** Exit code of the fake command. */
  readonly code: number;
  /** Its standard output. */
  readonly text?: string;
}

/** Carries out a call of a fake command: the command's name and its arguments. */
export type ControlHandler = (command: string, args: readonly string[]) => Promise<ControlAnswer>;

/** Listens for the fake commands of one machine on a socket in `folder`, which the machine sees too. */
export async function serveControl(folder: string, handle: ControlHandler): Promise<Server> {
  await mkdir(folder, { recursive: true });
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
    const [command = "", ...args] = body.replace(/\n$/, "").split("\n");
    const { code, text } = await handle(command, args).catch((error: unknown) => ({ code: 1, text: `rehearsal: ${messageOf(error)}` }));
    response.end(`${code}\n${text ?? ""}`);
  });
  await once(server.listen(path.join(folder, "socket")), "listening");
  return server;
}
