import { createHash } from "node:crypto";
import type { PayloadFile } from "../model/podNetwork.ts";
import type { PoolSpec } from "../model/pools.ts";
import { placeholders } from "./placeholders.ts";

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

/** Sixteen hexadecimal digits that change with the value. The order of object keys matters. */
export function fingerprint(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}

/**
 * Fills in the node label `fenestra.dev/payload`: the fingerprint of the payload and of all else that replaces the
 * pool's machines. So the label changes whenever the pool rolls.
 */
export function fingerprinted(payload: MachinePayload, pool: PoolSpec): WorkerPayload {
  const { image, size, diskGb, spot } = pool;
  const own = fingerprint([payload, image, size.name, diskGb, spot]);
  const files = payload.files.map((file) => ({ ...file, content: file.content.replaceAll(placeholders.payload, own) }));
  return { ...payload, files, fingerprint: own };
}
