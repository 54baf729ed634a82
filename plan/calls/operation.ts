export const operations = ["create", "read", "update", "delete"] as const;

/** What a provider does to a resource. */
export type Operation = (typeof operations)[number];
