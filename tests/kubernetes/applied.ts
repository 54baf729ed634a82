import assert from "node:assert/strict";
import type { ApiServer } from "../support/apiServer.ts";

/** Applies objects, which the API server must take. */
export async function applied({ kubectl }: ApiServer, items: readonly object[], ...flags: string[]): Promise<void> {
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const { code, stderr } = await kubectl(["apply", "--server-side", ...flags, "-f", "-"], list);
  assert.equal(code, 0, stderr);
}

export const namespaceOf = (name: string, labels: Readonly<Record<string, string>> = {}) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels },
});
