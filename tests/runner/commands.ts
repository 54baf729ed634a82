import { spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What failed, in its own words. */
  readonly reasons?: readonly string[];
}

const root = path.join(import.meta.dirname, "../../");
const bin = path.join(root, "node_modules", ".bin");

/** `held` prints a command's output when it has ended, for one that runs beside another. */
export type Output = "live" | "held";

async function show(argv: readonly string[], output: Output): Promise<{ code: number; lines: readonly string[] }> {
  const [command = "", ...args] = argv;
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, PATH: `${path.dirname(process.execPath)}:${process.env.PATH ?? ""}` },
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
  return { code, lines };
}

/** Programs of npm packages that pass or fail as a whole. */
export async function checks(commands: readonly (readonly [program: string, ...args: string[]])[]): Promise<Counts> {
  let passed = 0;
  for (const [program, ...args] of commands)
    passed += (await show([path.join(bin, program), ...args], "held")).code === 0 ? 1 : 0;
  return { passed, failed: commands.length - passed, skipped: 0 };
}

/** Counts as mocha and `fenestra rehearse` tell them. A run that broke off has failed. */
async function counted(...given: Parameters<typeof show>): Promise<Counts> {
  const { code, lines } = await show(...given);
  const told = lines.filter((line) => /^(\d+ passed, | {2}\d+ (passing|failing|pending))/.test(line)).join();
  const count = (what: string) => Number(new RegExp(`(\\d+) ${what}`).exec(told)?.[1] ?? 0);
  const failed = count("fail(ed|ing)");
  const failing = lines.findIndex((line) => /^ {2}\d+ failing/.test(line));
  return {
    passed: count("pass(ed|ing)"),
    failed: code === 0 && told !== "" ? failed : Math.max(failed, 1),
    skipped: count("(skipped|pending)"),
    reasons: failing >= 0 ? lines.slice(failing) : lines.filter((line) => /^\[[^\]]*\] FAIL /.test(line)),
  };
}

export const mocha = (args: readonly string[]) => counted([path.join(bin, "mocha"), "--no-color", ...args], "live");

export const rehearsal = (args: readonly string[], output: Output) =>
  counted([path.join(root, "cli/fenestra"), "rehearse", ...args], output);
