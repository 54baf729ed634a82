import { paintFor, timed } from "../../check/report.ts";

/** Where progress goes, such as `process.stderr`. */
interface ProgressStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
}

interface ProgressOptions {
  /** Default: standard error; standard output is for results. */
  readonly stream?: ProgressStream;
  /**
   * Start of the clock, in milliseconds since the epoch; a process that continues another one's work gets its start.
   * Default: now.
   */
  readonly startedAt?: number;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Writes lines with the time since the start. */
export interface Progress {
  /** Start of the clock, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** Writes `[ 12.3 s] text`, with further lines of `text` indented below. */
  line(text: string): void;
}

/** Progress lines, whose time is dimmed on a terminal. */
export function createProgress(options: ProgressOptions = {}): Progress {
  const stream: ProgressStream = options.stream ?? process.stderr;
  const paint = paintFor(stream);
  const now = options.now ?? Date.now;
  const startedAt = options.startedAt ?? now();
  return { startedAt, line: (text) => void stream.write(timed(text, now() - startedAt, paint)) };
}
