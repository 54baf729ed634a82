import { isDeepStrictEqual } from "node:util";

/** What a changed input does beyond an update in place, by the inputs' paths: `spec.selector`, `zones`. */
export interface ReplacementRow {
  /** Inputs, or parents of inputs, whose change replaces the resource. */
  readonly replaces: readonly string[];
  /** Optional and Computed ones, with `?` behind: to remove them changes nothing. */
  readonly kept?: readonly string[];
  /** Of `replaces`, those of which only some changes do. */
  readonly when?: Readonly<Record<string, (old: unknown, now: unknown) => boolean>>;
  /** Inputs that a preview shows as updated, with the changes that the cloud refuses. */
  readonly refuses?: Readonly<Record<string, (old: unknown, now: unknown) => boolean>>;
  /** Inputs whose change the cloud may refuse, with what may be done instead; `undefined` where it takes the change. */
  readonly mayRefuse?: Readonly<Record<string, (old: unknown, now: unknown) => string | undefined>>;
  /** Whether the provider deletes before it makes the successor, by the new inputs. Default: it does not. */
  readonly deletesFirst?: (inputs: unknown) => boolean;
  /** Inputs that an update sends only where they change, with what the cloud takes otherwise. */
  readonly resets?: Readonly<Record<string, string>>;
  /** What is gone for good with the resource, in words. */
  readonly data?: string | undefined;
  /** What no longer works without the resource, in words. */
  readonly ends?: string | undefined;
  /** What is gone for good with this update in place, in words. */
  readonly forgets?: (old: unknown, now: unknown) => string | undefined;
}

export function row(replaces: readonly string[], more: Omit<ReplacementRow, "replaces"> = {}): ReplacementRow {
  return { replaces, ...more };
}

/** Everything older is gone when the retention gets shorter. `key` holds its days, wherever in the inputs. */
export function older(key: string, what: string, zeroMeans = 0): NonNullable<ReplacementRow["forgets"]> {
  const least = (inputs: unknown): number =>
    Math.min(
      ...[...JSON.stringify(inputs ?? null).matchAll(new RegExp(`"${key}":(\\d+)`, "g"))].map(
        ([, days]) => Number(days) || zeroMeans,
      ),
    );
  return (old, now) => (least(now) < least(old) ? `${what} older than ${least(now)} days` : undefined);
}

export const any = (): boolean => true;

export function loses(old: unknown, now: unknown): boolean {
  return (
    Array.isArray(old) && Array.isArray(now) && old.some((item) => !now.some((each) => isDeepStrictEqual(each, item)))
  );
}
