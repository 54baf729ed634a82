/** Who owns lists and mappings among the inputs of a type. `[*]` is an item; a later group of these wins. */
export interface Owners {
  /** An update takes off what others add. */
  readonly ours?: readonly string[];
  /** The same, and somebody is known to add to it. */
  readonly contested?: Readonly<Record<string, string>>;
  /** Never sent, so the provider keeps what others add; `by` is the type that adds our own. */
  readonly shared?: Readonly<Record<string, { readonly others: string; readonly by?: string }>>;
  /** Ignored by updates, by who writes it; single values too. */
  readonly theirs?: Readonly<Record<string, string>>;
  /** Inputs that let a deletion take off what others attached. */
  readonly detaching?: Readonly<Record<string, true>>;
}

/** By type; `*` is every type. */
export type OwnerTable = Readonly<Record<string, Owners>>;

/** A function from a type to what its updates ignore, since others write it. */
export const theirsIn =
  <Table extends OwnerTable>(table: Table) =>
  (type: keyof Table): string[] =>
    Object.keys(table[type]?.theirs ?? {});
