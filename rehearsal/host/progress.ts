import { styleText } from "node:util";

/** Where progress goes; `process.stderr` fits. */
export interface ProgressStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
}

/** Settings of {@link createProgress}. */
export interface ProgressOptions {
  /** Default: standard error, so that standard output stays free for results. */
  readonly stream?: ProgressStream;
  /** Start of the clock, milliseconds since the epoch; a process that continues another one's work passes its start on. Default: now. */
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

/** Elapsed milliseconds as `[ 12.3 s]`. */
export function elapsedLabel(milliseconds: number): string {
  return `[${(Math.max(0, milliseconds) / 1000).toFixed(1).padStart(5)} s]`;
}

/** Progress lines with elapsed time; the time is dimmed on a terminal and the line is plain text otherwise (and with `NO_COLOR`). */
export function createProgress(options: ProgressOptions = {}): Progress {
  const stream: ProgressStream = options.stream ?? process.stderr;
  const now = options.now ?? Date.now;
  const startedAt = options.startedAt ?? now();
  return {
    startedAt,
    line(text) {
      const label = elapsedLabel(now() - startedAt);
      const shown = stream.isTTY === true ? styleText("dim", label, { stream }) : label;
      stream.write(`${shown} ${text.replaceAll("\n", `\n${" ".repeat(label.length + 1)}`)}\n`);
    },
  };
}
