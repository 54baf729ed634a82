/**
 * Initial value of the secrets that machines write: the join secret and the `initialised` marker. Machines read it as "not written yet".
 * The program creates the entry, so that destroying the stack removes it, and ignores its value afterwards.
 */
export const secretPlaceholder = "unwritten";
