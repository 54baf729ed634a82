import * as pulumi from "@pulumi/pulumi";
import { messageOf } from "../model/messages.ts";
import { resolvedValue } from "./waitFor.ts";

/** A resource that a machine is made of, as the program asks for it. */
export interface StartPart {
  readonly type: string;
  /** Its own; default: that of a control-plane machine. */
  readonly name?: string;
  readonly id?: string;
  readonly inputs: object;
  readonly outputs?: object;
}

/** A machine or a group that is going to be started. */
export interface MachineToStart {
  /** In words. Default: control-plane machine. */
  readonly what?: string;
  /** Its name in the cloud. */
  readonly name: string;
  readonly parts: pulumi.Input<readonly StartPart[]>;
}

/** What the cloud says, a sentence each. */
interface StartAnswer {
  readonly refused: readonly string[];
  /** Doubts, and what could not be asked. */
  readonly told: readonly string[];
}

/**
 * Asks the cloud whether a machine could start in the place of the one that has its name.
 *
 * @param skip ids of questions that are left out
 */
export type MayStart = (machine: string, parts: readonly StartPart[], skip: readonly string[]) => Promise<StartAnswer>;

/** Ids of questions that one update leaves out, joined by commas; `all`: nothing is asked. */
export const skipVariable = "FENESTRA_PREFLIGHT_SKIP";

/**
 * Refuses to delete a machine whose successor could not start. What cannot be asked, for want of a right, credentials
 * or an answer, is told, and the update goes on.
 *
 * @throws Error with what the cloud has against it and what mends it
 */
export async function refuseStart(machine: MachineToStart, ask: MayStart | undefined): Promise<void> {
  const skip = process.env[skipVariable]?.split(",") ?? [];
  if (ask === undefined || skip.includes("all")) return;
  const parts = await resolvedValue(machine.parts);
  const { refused, told } = await ask(machine.name, parts, skip).catch((error: unknown) => ({
    refused: [],
    told: [`not asked: ${messageOf(error)}`],
  }));
  for (const each of told) void pulumi.log.warn(`whether ${machine.name} can start again: ${each}`);
  if (refused.length > 0)
    throw new Error(
      [
        `${machine.what ?? "control-plane machine"} ${machine.name} is not replaced now, since a new one could not start:`,
        ...refused.map((each) => `  ${each}`),
        `Mend it or undo the change, and update again. Where the cloud is known to be wrong: ${skipVariable}=ID,ID pulumi up`,
      ].join("\n"),
    );
}

/** A group of machines that is deleted before its successor is made. */
interface GroupToCome {
  /** The values whose change replaces it. */
  readonly kept: pulumi.Input<object>;
  readonly start: MachineToStart;
  /** Default: the cloud is not asked. */
  readonly mayStart: MayStart | undefined;
}

/** A gate before such a group, updated when the group is about to be deleted. */
export function groupGate(name: string, group: GroupToCome, opts: pulumi.CustomResourceOptions): pulumi.Stash {
  const hook = new pulumi.ResourceHook(name, () => refuseStart(group.start, group.mayStart));
  return new pulumi.Stash(name, { input: group.kept }, { ...opts, hooks: { beforeUpdate: [hook] } });
}
