/**
 * Who owns the lists and mappings among the inputs of a type of resource. Items of a list are `[*]` in a path; what is
 * named in several groups belongs to the later one.
 */
export interface Owners {
  /** Ours as a whole: an update that sends it takes off what others added. */
  readonly ours?: readonly string[];
  /** Ours too, although others are known to add to it, here who. */
  readonly contested?: Readonly<Record<string, string>>;
  /**
   * Never sent, and the provider keeps what is there: others may add, here who. `by`: the type of resource by which we
   * add our own.
   */
  readonly shared?: Readonly<Record<string, { readonly others: string; readonly by?: string }>>;
  /** Not ours, whether a list or not: an update ignores it, here who writes it. */
  readonly theirs?: Readonly<Record<string, string>>;
  /** Inputs by which a deletion takes off what others attached. */
  readonly detaching?: Readonly<Record<string, true>>;
}

/** By type of resource; `*` is every type. */
export type OwnerTable = Readonly<Record<string, Owners>>;
