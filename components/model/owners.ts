/**
 * Who owns lists and mappings among a type's inputs, and on Azure, where a request is a whole resource, whatever the
 * program leaves out. `[*]` is an item; a later group wins.
 */
export interface Owners {
  /** An update takes off what others add. */
  readonly ours?: readonly string[];
  /** The same, and somebody adds to it or puts another value there. */
  readonly contested?: Readonly<Record<string, string>>;
  /** Never sent, so the provider keeps what others add; `by` is the type that adds our own. */
  readonly shared?: Readonly<Record<string, { readonly others: string; readonly by?: string }>>;
  /** Ignored by updates, with who writes it; single values too. */
  readonly theirs?: Readonly<Record<string, string>>;
  /** What no setting sends, and who does: ignored by updates unless a transform sends it. */
  readonly left?: { readonly others: string; readonly inputs: readonly string[] };
  /** An update asks the cloud first, and stops at what others set since the state was read. */
  readonly asks?: true;
  /** What of others stops a deletion, and the command that shows it. */
  readonly heldBy?: { readonly others: string; readonly look: string };
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
