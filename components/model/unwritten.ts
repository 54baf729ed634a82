/**
 * Value of a secret that the program creates and a machine writes: the join secret and the `initialised` marker. It stands for "nobody
 * wrote it yet". The program makes the entry, so that destroying the stack removes it, and ignores its value from then on.
 */
export const unwritten = "unwritten";
