/**
 * A mistake: title, cloud of the valid config it is made in, changes by path (`undefined` removes). What is told of it is in badInput.txt, in the order of the rows.
 */
export type Row = readonly [title: string, cloud: "aws" | "azure", changes: Readonly<Record<string, unknown>>];
