import { createHash } from "node:crypto";
import type { PoolSpec } from "../model/pools.ts";
import type { MachinePayload, WorkerPayload } from "./payload.ts";
import { placeholders } from "./placeholders.ts";

/** Sixteen hexadecimal digits that change with the value. The order of object keys matters. */
export function fingerprint(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}

/**
 * Fills in the node label `fenestra.dev/payload`: the fingerprint of the payload and of everything else that replaces the pool's machines,
 * image, size and disk. So a node shows what its machine was created from, and the label changes whenever the pool rolls.
 */
export function fingerprinted(payload: MachinePayload, pool: PoolSpec): WorkerPayload {
  const { image, size, diskGb, spot } = pool;
  const own = fingerprint([payload, image, size.name, diskGb, spot]);
  const files = payload.files.map((file) => ({ ...file, content: file.content.replaceAll(placeholders.payload, own) }));
  return { ...payload, files, fingerprint: own };
}
