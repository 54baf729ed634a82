import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What failed; printed again above the counts, where the end of a long log is read. */
  readonly problems?: readonly string[];
}

/** Most lines of one problem that are printed again. */
export const problemLines = 25;

const root = path.join(import.meta.dirname, "../../");
const bin = path.join(root, "node_modules", ".bin");

/** `held` prints a command's output when it has ended, for one that runs beside another. */
export type Output = "live" | "held";

async function show(
  argv: readonly string[],
  output: Output,
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; lines: readonly string[] }> {
  const [command = "", ...args] = argv;
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env, PATH: `${path.dirname(process.execPath)}:${process.env.PATH ?? ""}` },
    stdio: ["ignore", "pipe", output === "live" ? "inherit" : "pipe"],
  });
  const ended = new Promise<number>((resolve) => child.once("close", (status) => resolve(status ?? 1)));
  const lines: string[] = [];
  const read = async (stream: NodeJS.ReadableStream) => {
    for await (const line of createInterface({ input: stream })) {
      if (output === "live") console.log(line);
      lines.push(line);
    }
  };
  await Promise.all([child.stdout, child.stderr].flatMap((stream) => (stream === null ? [] : [read(stream)])));
  const code = await ended;
  if (output === "held") console.log(lines.join("\n"));
  return { code, lines: lines.filter((line) => line.trim() !== "") };
}

/** Programs of npm packages that pass or fail as a whole. */
export async function checks(commands: readonly (readonly [program: string, ...args: string[]])[]): Promise<Counts> {
  const problems: string[] = [];
  for (const [program, ...args] of commands) {
    const { code, lines } = await show([path.join(bin, program), ...args], "held");
    if (code !== 0) problems.push(`${program}\n${lines.join("\n")}`);
  }
  return { passed: commands.length - problems.length, failed: problems.length, skipped: 0, problems };
}

export async function mocha(args: readonly string[]): Promise<Counts> {
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-test-"));
  const file = path.join(folder, "counts.json");
  try {
    const reporter = path.join(root, "tests/runner/countingReporter.ts");
    const { code } = await show([path.join(bin, "mocha"), "--reporter", reporter, ...args], "live", {
      FENESTRA_COUNTS: file,
    });
    const counts: Counts = JSON.parse(readFileSync(file, "utf8"));
    // A run that broke off has failed.
    return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A failed check of a rehearsal; its reason is below. */
const failedCheck = /^\[[ \d.]+ s\] FAIL /;

/** `fenestra rehearse`, which ends with the line `N passed, N failed[, N skipped]`. */
export async function rehearsal(args: readonly string[], output: Output): Promise<Counts> {
  const { code, lines } = await show([path.join(root, "cli/fenestra"), "rehearse", ...args], output);
  const match = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(lines.at(-1) ?? "");
  if (match === null) return { passed: 0, failed: 1, skipped: 0, problems: [lines.slice(-problemLines).join("\n")] };
  const [passed = 0, failed = 0, skipped = 0] = match.slice(1).map((digits) => Number(digits ?? 0));
  const problems = lines.flatMap((line, at) => (failedCheck.test(line) ? [lines.slice(at, at + 4).join("\n")] : []));
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed, skipped, problems };
}
