export const operations = ["create", "read", "update", "delete"] as const;

export type Operation = (typeof operations)[number];
