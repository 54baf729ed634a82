import type { EndpointAnswer } from "../server.ts";

/** The error document that Azure's services have in common. */
export function azureError(status: number, code: string, message: string, inner?: string): EndpointAnswer {
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: JSON.stringify({ error: { code, message, ...(inner === undefined ? {} : { innererror: { code: inner } }) } }),
  };
}
