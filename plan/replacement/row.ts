/**
 * What a changed input of a type of resource does, beyond an update in place. Paths are those of the inputs:
 * `spec.selector`, `zones`.
 */
export interface ReplacementRow {
  /** Inputs, or parents of inputs, whose change makes the provider replace the resource. */
  readonly replaces: readonly string[];
  /** Of `replaces`, those for which the provider looks at the values: whether this change replaces the resource. */
  readonly when?: Readonly<Record<string, (old: unknown, now: unknown) => boolean>>;
  /**
   * Inputs whose change a preview shows as an update and the cloud refuses, with the change that it refuses. Default:
   * any.
   */
  readonly refuses?: Readonly<Record<string, (old: unknown, now: unknown) => boolean>>;
  /** Inputs that an update in place sends only where they change themselves, with what the cloud takes otherwise. */
  readonly resets?: Readonly<Record<string, string>>;
  /** What is gone for good with the resource, in words. */
  readonly data?: string;
  /** What no longer works without the resource, in words. */
  readonly ends?: string;
  /** What is gone for good with an update in place, by the inputs before and now, in words. */
  readonly forgets?: (old: unknown, now: unknown) => string | undefined;
  /** Where it is decided: file below the folder of the table's source. */
  readonly source: string;
}

/** A row. */
export function row(
  source: string,
  replaces: readonly string[],
  more: Omit<ReplacementRow, "source" | "replaces"> = {},
): ReplacementRow {
  return { source, replaces, ...more };
}

/**
 * Of a retention that gets shorter: everything older, soon and for good. `key` holds its days, wherever in the inputs.
 */
export function older(key: string, what: string): NonNullable<ReplacementRow["forgets"]> {
  const least = (inputs: unknown): number =>
    Math.min(
      ...[...JSON.stringify(inputs ?? null).matchAll(new RegExp(`"${key}":(\\d+)`, "g"))].map(([, days]) =>
        Number(days),
      ),
    );
  return (old, now) => (least(now) < least(old) ? `${what} older than ${least(now)} days` : undefined);
}

export const any = (): boolean => true;

/** Whether one of the old items is missing in the new ones, in any order. */
export function loses(old: unknown, now: unknown): boolean {
  return Array.isArray(old) && Array.isArray(now) && old.some((item) => !now.includes(item));
}
