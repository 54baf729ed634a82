/** How a downloaded file is installed. */
export interface Placement {
  /** `binary`: installed under its own name; `tar`: unpacked, gzip. */
  readonly kind: "binary" | "tar";
  /** Folder on the machine. */
  readonly destination: string;
  /** Leading path components of the archive to strip. Default 0. */
  readonly strip?: number;
  /** Patterns of the files to extract from the archive. Default all. */
  readonly members?: readonly string[];
}
