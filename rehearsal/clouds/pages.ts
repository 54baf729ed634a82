/**
 * Most names in one answer. S3 gives up to 1,000 and Blob Storage up to 5,000, and either may give fewer (Amazon S3 API
 * Reference, ListObjectsV2; Azure documentation, "Enumerating Blob Resources"); with so few, even a small cluster's
 * snapshots need several pages.
 */
const pageLength = 2;

/** A part of a list in alphabetical order. */
export interface Page {
  readonly names: readonly string[];
  /** Marker of the next page, empty at the end. A query cannot carry its characters as they are. */
  readonly next: string;
}

/**
 * A page of the names that begin with the prefix; `undefined` for a marker that no page gave.
 * @param marker `next` of the page before; none or empty: the first page
 */
export function pageOf(names: Iterable<string>, prefix: string, marker: string | null): Page | undefined {
  const after = marker ? readMarker(marker) : "";
  if (after === undefined) return undefined;
  const left = [...names].filter((name) => name.startsWith(prefix) && name > after).sort();
  const page = left.slice(0, pageLength);
  return { names: page, next: left.length > page.length ? markerAfter(page.at(-1) ?? "") : "" };
}

function markerAfter(name: string): string {
  return `1+/${Buffer.from(name).toString("base64")}=`;
}

function readMarker(marker: string): string | undefined {
  const name = Buffer.from(marker.slice(3, -1), "base64").toString();
  return markerAfter(name) === marker ? name : undefined;
}
