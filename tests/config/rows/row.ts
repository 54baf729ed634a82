/** A problem as it must be reported: path without `config.fenestra:`, value, message, what is allowed. */
type Told = readonly [path: string, value: unknown, message: string, allowed: string];

/** A mistake: title, cloud of the valid config it is made in, changes by path (`undefined` removes), every problem that must be reported. */
export type Row = readonly [title: string, cloud: "aws" | "azure", changes: Readonly<Record<string, unknown>>, told: readonly Told[]];
