import { paintFor, timed } from "../../checks/report.ts";

/** Where progress goes; `process.stderr` fits. */
export interface ProgressStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
}

/** Settings of {@link createProgress}. */
export interface ProgressOptions {
  /** Default: standard error, so that standard output stays free for results. */
  readonly stream?: ProgressStream;
  /**
   * Start of the clock, milliseconds since the epoch; a process that continues another one's work passes its start on.
   * Default: now.
   */
  readonly startedAt?: number;
  /** The clock in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Writes lines with the time since the start. */
export interface Progress {
  /** Start of the clock, milliseconds since the epoch. */
  readonly startedAt: number;
  /** Writes one line: `[ 12.3 s] text`. Further lines of `text` are indented below the first. */
  line(text: string): void;
}

/** Progress lines with elapsed time, which is dimmed on a terminal. */
export function createProgress(options: ProgressOptions = {}): Progress {
  const stream: ProgressStream = options.stream ?? process.stderr;
  const paint = paintFor(stream);
  const now = options.now ?? Date.now;
  const startedAt = options.startedAt ?? now();
  return { startedAt, line: (text) => void stream.write(timed(text, now() - startedAt, paint)) };
}
