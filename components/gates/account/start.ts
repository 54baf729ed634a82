import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { type AskRoll, Unasked } from "../poolGate.ts";
import type { MayStart, StartPart } from "../startGate.ts";
import { type KnownResource, mapFromWire } from "../values.ts";
import { CallError, type Objection, type Send } from "./question.ts";
import { type Asking, Caller } from "./run.ts";

/** Each loads its cloud's SDK alone. */
const clouds = { aws: () => import("./aws/ask.ts"), azure: () => import("./azure/ask.ts") };

/** A part of what is to start, as questions read a program. */
function knownPart({ type, name = "control-plane", id, inputs, outputs = {} }: StartPart): KnownResource {
  return { type, name, id, inputs: mapFromWire(inputs), outputs: mapFromWire(outputs) };
}

function lineOf(id: string, { outcome, text, mend }: Objection): string {
  const said = `${id}: ${outcome === "refused" ? "" : `${outcome}, `}${text}`;
  return mend === undefined ? said : `${said}; mend: ${mend}`;
}

/** Asks what one machine raises before it goes, with this process's credentials. */
export function startCheck(
  { cloud, region, tags, accountId = "" }: Pick<ClusterSpec, "cloud" | "region" | "tags" | "accountId">,
  given: Pick<Asking, "send" | "limitMs"> = {},
): MayStart {
  return async (goes, parts, skip) => {
    const { ask } = await clouds[cloud]();
    const provider = { type: `pulumi:providers:${cloud}`, inputs: { defaultTags: JSON.stringify({ tags }) } };
    const resources = [provider, ...parts].map(knownPart);
    const [subscription] = resources.flatMap(({ id }) => /^\/subscriptions\/([^/]+)/.exec(id ?? "")?.[1] ?? []);
    const { answers } = await ask({
      program: { resources },
      place: { region, accountId: subscription ?? accountId },
      ...{ asker: { local: [] }, skip, goes, ...given },
    });
    const [refused, told]: [string[], string[]] = [[], []];
    for (const { id, objections } of answers)
      for (const each of objections) (each.outcome === "refused" ? refused : told).push(lineOf(id, each));
    return { refused, told };
  };
}

/** A resource as Azure has it now. @throws CallError */
export async function readResource(id: string, apiVersion: string): Promise<unknown> {
  const { azureSender } = await import("./azure/client.ts");
  const send = azureSender(() => undefined);
  return await send({ right: "read", input: `${id}?api-version=${apiVersion}` }, AbortSignal.timeout(30_000));
}

/** What passes by itself: a busy cloud, a network that comes back. */
const passing = /^E[A-Z]+$|Throttl|TooMany|RequestLimit|[Tt]imeout|Abort|^(late|429|5\d\d)$/;

/** Longest for one look at a roll, in milliseconds. */
const rollMs = 30_000;

/** @param given default: calls with this process's credentials */
export function rollQuestion({ cloud, region }: Pick<ClusterSpec, "cloud" | "region">, given?: Send): AskRoll {
  let send = given;
  return async (id) => {
    const { sender, rollProblems } = await clouds[cloud]();
    send ??= sender(() => undefined, region);
    const { ask } = new Caller(send, AbortSignal.timeout(rollMs), rollMs);
    try {
      return await rollProblems(ask, id);
    } catch (error) {
      if (!(error instanceof CallError) || (error.kind === "none" && passing.test(error.code))) throw error;
      throw new Unasked(error.kind === "denied" ? `it needs ${error.call.right}` : `${error.message} (${error.code})`);
    }
  };
}
