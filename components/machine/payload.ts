import type { PayloadFile } from "../model/machineParts.ts";

export type { PayloadFile };

type MachineKind = "control-plane" | "linux" | "windows";

/** Everything that a machine receives: its files and its entry point. Contains no secret. */
export interface MachinePayload {
  readonly kind: MachineKind;
  /** Files in the order they are written; paths are unique. */
  readonly files: readonly PayloadFile[];
  /** Path of the file that starts the bootstrap; one of `files`. */
  readonly entry: string;
}

export interface WorkerPayload extends MachinePayload {
  /** Sixteen hexadecimal digits, the value of the node label `fenestra.dev/payload`. */
  readonly fingerprint: string;
}
