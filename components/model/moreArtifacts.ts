import versions from "../../versions.json" with { type: "json" };

interface Row {
  readonly name: string;
  readonly version: string;
  readonly os: string;
  readonly url: string;
  readonly digest: string | null;
  readonly replaces?: readonly string[];
}

/** `4.12.0-eksbuild.2` as minor `4.12`, form `-eksbuild.#` and numbers 0 and 2; `undefined` for other versions. */
export function partsOf(version: string): { minor: string; form: string; numbers: readonly number[] } | undefined {
  const [, minor, patch, rest = ""] = /^(\d+\.\d+)\.(\d+)((?:-.*)?)$/.exec(version) ?? [];
  if (minor === undefined || patch === undefined) return undefined;
  return { minor, form: rest.replaceAll(/\d+/g, "#"), numbers: [patch, ...(rest.match(/\d+/g) ?? [])].map(Number) };
}

function compareNumbers(a: readonly number[], b: readonly number[]): number {
  return a.map((number, index) => number - (b[index] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

/** How much later a version is than another patch of its minor and form; else `undefined`. */
function laterBy(version: string, other: string): number | undefined {
  const [a, b] = [partsOf(version), partsOf(other)];
  const same = a !== undefined && b !== undefined && a.minor === b.minor && a.form === b.form;
  return same ? compareNumbers(a.numbers, b.numbers) : undefined;
}

export const isLaterPatch = (version: string, other: string): boolean => (laterBy(version, other) ?? 0) > 0;

/** `3.6.14` of `3.6.14-0`. */
export const releaseOf = (version: string): string => version.replace(/-.*/, "");

/** Whether it is a program of a Kubernetes release. */
export function isProgram({ url }: Pick<Row, "url">): boolean {
  return url.startsWith("https://dl.k8s.io/release/");
}

/** Names that move with one, itself among them. */
export function partnersOf(name: string, together: readonly (readonly string[])[] = versions.together) {
  return together.find((group) => group.includes(name)) ?? [name];
}

/**
 * A user's rows, each with the versions that it replaces, none where it has no effect. A later patch of what the
 * program pins replaces it until the program has that patch or a later one; a row with a digest, the same without. What
 * moves together does so or not at all. A Kubernetes release that the program lacks stays as it is.
 */
export function placesOf<T extends Row>(
  own: readonly T[],
  more: readonly T[],
  together: readonly (readonly string[])[] = versions.together,
): readonly T[] {
  const usable = more.filter(({ digest }) => digest !== null);
  const first = more.map((row): T => {
    const theirs = own.filter((each) => isAlike(each, row));
    const same = theirs.find(({ version }) => version === row.version);
    if (same === undefined && isProgram(row)) return row;
    const later = (some: readonly Row[]) => some.some(({ version }) => isLaterPatch(version, row.version));
    const overtaken = !isProgram(row) && later([...theirs, ...usable.filter((each) => isAlike(each, row))]);
    if (row.digest === null || overtaken) return { ...row, replaces: [] };
    if (same !== undefined) return { ...row, replaces: same.digest === null ? [row.version] : [] };
    const older = theirs.map(({ version }) => version).filter((version) => isLaterPatch(row.version, version));
    return { ...row, replaces: older };
  });
  return first.map((row) => {
    const moved = own.filter(
      (each) =>
        partnersOf(row.name, together).includes(each.name) &&
        row.replaces?.some((version) => version !== row.version && releaseOf(version) === releaseOf(each.version)),
    );
    const versionNow = (each: Row) => first.find((one) => isInPlaceOf(one, each))?.version ?? each.version;
    const missing = moved.some((each) => releaseOf(versionNow(each)) !== releaseOf(row.version));
    return missing ? { ...row, replaces: [] } : row;
  });
}

const isAlike = (a: Row, b: Row): boolean => a.name === b.name && a.os === b.os;
const isInPlaceOf = (row: Row, other: Row): boolean =>
  isAlike(row, other) && row.replaces?.includes(other.version) === true;

/** Whether a user's row is of a later version than the program's. */
export const runsAhead = ({ replaces = [], version }: Row): boolean => replaces.some((each) => each !== version);

/** The program's rows and a user's, which may replace some of them. */
export function withMore<T extends Row>(own: readonly T[], more: readonly T[]): readonly T[] {
  const placed = placesOf(own, more);
  return [...own.filter((row) => !placed.some((each) => isInPlaceOf(each, row))), ...placed];
}
