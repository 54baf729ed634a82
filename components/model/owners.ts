/** Who owns lists and mappings among a type's inputs. `[*]` is an item; a later group wins. */
export interface Owners {
  /** An update takes off what others add. */
  readonly ours?: readonly string[];
  /** The same, and somebody adds to it. */
  readonly contested?: Readonly<Record<string, string>>;
  /** Never sent, so the provider keeps what others add; `by` is the type that adds our own. */
  readonly shared?: Readonly<Record<string, { readonly others: string; readonly by?: string }>>;
  /** Ignored by updates, with who writes it; single values too. */
  readonly theirs?: Readonly<Record<string, string>>;
  /** Inputs that let a deletion take off what others attached. */
  readonly detaching?: Readonly<Record<string, true>>;
}

/** By type; `*` is every type. */
export type OwnerTable = Readonly<Record<string, Owners>>;

/** From a type to what its updates ignore. */
export const theirsIn =
  <Table extends OwnerTable>(table: Table) =>
  (type: keyof Table): string[] =>
    Object.keys(table[type]?.theirs ?? {});
