import type { EngineEvent } from "@pulumi/pulumi/automation/index.js";
import { harmless } from "../../components/model/messages.ts";

/** Words for what an update waits for; all else only counts. */
const words: readonly (readonly [RegExp, string])[] = [
  [/^pulumi:index:Stash$/, "gate"],
  [/^aws:ec2\/instance:|^azure-native:compute:VirtualMachine$/, "machine"],
  [/^aws:autoscaling\/group:|^azure-native:compute:VirtualMachineScaleSet$/, "group of machines"],
  [/^kubernetes:/, "object"],
];

interface Running {
  readonly what: string;
  readonly isTold: boolean;
  readonly op: string;
  readonly since: number;
}

/** Seconds after which anything is named. */
const longSeconds = 10;

/** Seconds without a line after which is told what is awaited. */
const silentSeconds = 30;

export interface Watch {
  readonly event: (event: EngineEvent) => void;
  /** To be called every few seconds. */
  readonly tick: () => void;
  /** What has failed, a text each. */
  readonly errors: () => readonly string[];
}

/**
 * Says what an engine does with machines, gates and objects, and what it waits for.
 *
 * @param line writes a line. @param now milliseconds. @param total changes that are to come
 */
export function watchEngine(line: (text: string) => void, now: () => number, total: number): Watch {
  const running = new Map<string, Running>();
  const errors: string[] = [];
  let [done, told] = [0, now()];
  const tell = (text: string): void => {
    told = now();
    line(text);
  };
  const seconds = (since: number) => Math.round((now() - since) / 1000);
  const begin = (urn: string, type: string, op: string): void => {
    const word = words.find(([pattern]) => pattern.test(type))?.[1];
    const name = urn.split("::").at(-1) ?? urn;
    const what = word === undefined ? `${type.split(/[:/]/).at(-1)} ${name}` : `${word} ${name}`;
    const isTold = word !== undefined && word !== "object";
    running.set(urn, { what, isTold, op, since: now() });
    if (isTold) tell(`${op} ${what}`);
  };
  const end = (urn: string, how: string): void => {
    const found = running.get(urn);
    if (found === undefined) return;
    running.delete(urn);
    done += 1;
    const after = seconds(found.since);
    if (found.isTold || after >= longSeconds || how !== "done")
      tell(`${found.op} ${found.what}: ${how} after ${after} s`);
  };
  return {
    event: ({ resourcePreEvent, resOutputsEvent, resOpFailedEvent, diagnosticEvent }) => {
      const before = resourcePreEvent?.metadata;
      if (before !== undefined && isWork(before.op) && !/^(fenestra|pulumi:pulumi):/.test(before.type))
        begin(before.urn, before.type, before.op);
      if (resOutputsEvent !== undefined) end(resOutputsEvent.metadata.urn, "done");
      if (resOpFailedEvent !== undefined) end(resOpFailedEvent.metadata.urn, "failed");
      if (diagnosticEvent === undefined) return;
      const text = harmless(diagnosticEvent.message.replaceAll(/<\{%.*?%\}>/g, "").trim());
      const name = diagnosticEvent.urn?.split("::").at(-1);
      const said = name === undefined || name === "" ? text : `${name}: ${text}`;
      if (diagnosticEvent.severity === "error") errors.push(said);
      // What the engine says for debugging has values of resources.
      else if (["info", "warning"].includes(diagnosticEvent.severity) && text !== "") tell(said);
    },
    tick: () => {
      if (seconds(told) < silentSeconds || running.size === 0) return;
      const longest = [...running.values()].toSorted((a, b) => a.since - b.since).slice(0, 3);
      const more = running.size - longest.length;
      const named = longest.map(({ op, what, since }) => `${op} ${what}, ${seconds(since)} s`).join("; ");
      tell(`${done} of ${total} done; at work: ${named}${more > 0 ? `; and ${more} more` : ""}`);
    },
    errors: () => [...new Set(errors)],
  };
}

/** Whether an operation does something. */
export function isWork(op: string): boolean {
  return !["same", "read", "refresh", "read-discard", "discard", "skip"].includes(op);
}
