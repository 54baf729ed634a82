import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { stackNames } from "../components/config/stackFile.ts";
import { messageOf } from "../components/gates/messageOf.ts";
import { createProgress } from "../rehearsal/host/progress.ts";
import { obtainCheckers } from "../rehearsal/programs/checkers/obtain.ts";
import { obtainPrograms } from "../rehearsal/programs/obtain.ts";
import { obtainCollector } from "./support/collector.ts";
import { stackDir, testStacks } from "./support/stacks.ts";

/** Counts of one step or of all. */
interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What failed, a text each; printed again just above the counts, where the end of a long log is read. */
  readonly problems?: readonly string[];
}

/** Most lines of one problem that are printed again. */
const problemLines = 25;

const root = fileURLToPath(new URL("../", import.meta.url));
const bin = path.join(root, "node_modules", ".bin");

/** Runs a program with its output shown as it comes. Its exit code and its lines that are not empty. */
async function show(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; lines: readonly string[] }> {
  const [command = "", ...args] = argv;
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env, PATH: `${path.dirname(process.execPath)}:${process.env.PATH ?? ""}` },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(line);
    if (line.trim() !== "") lines.push(line);
  }
  const code = await new Promise<number>((resolve) => {
    if (child.exitCode !== null) resolve(child.exitCode);
    else child.once("close", (status) => resolve(status ?? 1));
  });
  return { code, lines };
}

/** A step that passes or fails as a whole. */
async function single(argv: readonly string[]): Promise<Counts> {
  const { code, lines } = await show(argv);
  return code === 0 ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0, problems: [lines.join("\n")] };
}

/** Control-plane programs, checkers and the log collector, built once when they are not at hand; tests that need kubeadm find it by its variable. */
async function programs(): Promise<Counts> {
  const progress = createProgress({ stream: process.stdout });
  const found = await obtainPrograms({ progress });
  await obtainCheckers({ progress });
  await obtainCollector(progress);
  process.env.FENESTRA_KUBEADM = found.kubeadm.path;
  return { passed: Object.keys(found).length > 0 ? 1 : 0, failed: 0, skipped: 0 };
}

async function mocha(): Promise<Counts> {
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-test-"));
  const file = path.join(folder, "counts.json");
  try {
    const { code } = await show(
      [
        path.join(bin, "mocha"),
        "--reporter",
        path.join(root, "tests/support/countingReporter.ts"),
        // Much of a test's time is a shell or a server that it waits for: two files at once, on as many cores.
        "--parallel",
        "--jobs",
        "2",
        "tests/**/*.test.ts",
      ],
      {
        FENESTRA_COUNTS: file,
      },
    );
    const counts: Counts = JSON.parse(readFileSync(file, "utf8"));
    // A run that broke off counts as a failure even when its counts have none.
    return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A small stack of each cloud, rehearsed once more with every add-on and all samples. */
const everyAddOnStacks = ["aws-dev", "azure-dev"];

/** How a rehearsal prints a check that failed; its reason is in the lines below. */
const failedCheck = /^\[[ \d.]+ s\] FAIL /;

/** A rehearsal ends with the line `N passed, N failed[, N skipped]`. */
async function rehearsal(stack: string, option: "--full" | "--every-add-on"): Promise<Counts> {
  const { code, lines } = await show([path.join(root, "cli/fenestra"), "rehearse", "--stack", stack, ...stackDir, option]);
  const match = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(lines.at(-1) ?? "");
  if (match === null) return { passed: 0, failed: 1, skipped: 0, problems: [lines.slice(-problemLines).join("\n")] };
  const [passed = 0, failed = 0, skipped = 0] = match.slice(1).map((digits) => Number(digits ?? 0));
  const problems = lines.flatMap((line, at) => (failedCheck.test(line) ? [lines.slice(at, at + 4).join("\n")] : []));
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed, skipped, problems };
}

const steps: readonly { readonly title: string; readonly run: () => Promise<Counts> }[] = [
  { title: "types", run: () => single([path.join(bin, "tsc"), "--noEmit"]) },
  { title: "lint and format", run: () => single([path.join(bin, "biome"), "ci", "."]) },
  { title: "exports and dependencies that nobody uses", run: () => single([path.join(bin, "knip"), "--no-progress"]) },
  { title: "control-plane programs", run: programs },
  { title: "mocha", run: mocha },
  ...stackNames(testStacks).map((stack) => ({ title: `rehearsal of ${stack}`, run: () => rehearsal(stack, "--full") })),
  ...everyAddOnStacks.map((stack) => ({
    title: `rehearsal of ${stack} with every add-on`,
    run: () => rehearsal(stack, "--every-add-on"),
  })),
];

let total: Counts = { passed: 0, failed: 0, skipped: 0 };
for (const { title, run } of steps) {
  console.log(`\n== ${title}`);
  const started = Date.now();
  const counts = await run().catch((error: unknown): Counts => {
    console.log(messageOf(error));
    return { passed: 0, failed: 1, skipped: 0, problems: [messageOf(error)] };
  });
  const problems = (counts.problems ?? []).map((problem) => `${title}: ${problem}`);
  total = {
    passed: total.passed + counts.passed,
    failed: total.failed + counts.failed,
    skipped: total.skipped + counts.skipped,
    problems: [...(total.problems ?? []), ...problems],
  };
  console.log(
    `== ${title}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped, ${((Date.now() - started) / 1000).toFixed(1)} s`,
  );
}
if (total.problems !== undefined && total.problems.length > 0) {
  console.log("\nWhat failed:");
  for (const problem of total.problems) console.log(problem.split("\n").slice(0, problemLines).join("\n    ").replace(/^/, "  - "));
}
console.log(`\n${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ""}`);
process.exitCode = total.failed > 0 ? 1 : 0;
