import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Exec, type KubeConfig, type V1Status } from "@kubernetes/client-node";
import { messageOf } from "../../components/model/messages.ts";
import { CheckFailure } from "../check.ts";
import { whole } from "./clusterApi.ts";

export interface ExecResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in a pod of the run. Throws without such a pod, or a way to its kubelet. */
export type Execute = (pod: string, command: readonly string[]) => Promise<ExecResult>;

/** Longest that one command may take. */
const limitMs = 60_000;
/** Bytes that it may say: a failure shows them. */
const mostSaid = 1024 * 1024;

/** Runs commands in pods, as `kubectl exec` does. */
export function executor(config: KubeConfig, namespace: string): Execute {
  return async (pod, command) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const end = Promise.withResolvers<V1Status>();
    // A failure before the socket is there is thrown by the call itself.
    end.promise.catch(() => undefined);
    const said = Promise.all([stdout, stderr].map((stream) => whole(stream, mostSaid)));
    said.catch(end.reject);
    const timer = setTimeout(
      () => end.reject(new Error(`${command.join(" ")} in pod ${pod} had no end after ${limitMs / 1000} s`)),
      limitMs,
    );
    try {
      const socket = await new Exec(config).exec(
        namespace,
        pod,
        "probe",
        [...command],
        stdout,
        stderr,
        null,
        false,
        (status) => end.resolve(status),
      );
      socket.addEventListener("close", () => end.reject(new Error(`the connection to pod ${pod} broke off`)));
      try {
        const code = exitCode(await end.promise);
        for (const stream of [stdout, stderr]) stream.end();
        const [out = "", err = ""] = await said;
        return { code, stdout: out, stderr: err };
      } finally {
        // A close that is only asked for would wait half a minute for who goes on talking.
        socket.terminate();
      }
    } catch (error) {
      throw new Error(`exec in pod ${pod}: ${socketMessage(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  };
}

/**
 * Exit code by the stream's last status (kubernetes/kubernetes:
 * staging/src/k8s.io/apimachinery/pkg/util/remotecommand).
 *
 * @throws Error when the command was not run, as when the container lacks the program
 */
export function exitCode({ status, message, reason, details }: V1Status): number {
  if (status === "Success") return 0;
  if (reason === "NonZeroExitCode") {
    const code = details?.causes?.find((cause) => cause.reason === "ExitCode")?.message;
    if (code !== undefined && /^\d+$/.test(code)) return Number(code);
  }
  throw new Error(message ?? reason ?? "ended without a word");
}

/** WebSocket libraries may throw an event in place of an error. */
function socketMessage(error: unknown): string {
  return typeof error === "object" && error !== null && "message" in error && typeof error.message === "string"
    ? error.message
    : String(error);
}

type RunThere = (command: readonly string[]) => Promise<ExecResult>;

export interface ProbeStart {
  /** `pod linux-a0`. */
  readonly name: string;
  readonly os: "linux" | "windows";
  readonly run: RunThere;
}

interface ReachOptions {
  readonly signal: AbortSignal;
  /** `undefined` when the answer is right. */
  readonly judge: (answer: string) => string | undefined;
  /** Time for a path to come up. Default: 30,000, as upstream's tests give a new Windows endpoint. Windows row: first-seconds. */
  readonly warmUpMs?: number;
  /** Default: 1,000. */
  readonly pauseMs?: number;
  readonly lookAt?: string;
}

/** One good answer may be luck when half of a Service's endpoints are broken. */
const answersInARow = 5;

/** curl's exit codes for no answer: refused, time is up, nothing came, reset (curl(1), "EXIT CODES"). */
const unanswered = new Set([7, 28, 52, 56]);

/** Windows has curl since build 17763. */
export function curl(os: "linux" | "windows", url: string, options: readonly string[] = []): readonly string[] {
  return [os === "windows" ? "curl.exe" : "curl", "-sS", "--connect-timeout", "5", "-m", "10", ...options, url];
}

/** Asks until the answer was right several times in a row. @throws CheckFailure with the last wrong answer */
export async function reaches(start: ProbeStart, url: string, options: ReachOptions): Promise<void> {
  const until = performance.now() + (options.warmUpMs ?? 30_000);
  let [row, problem] = [0, "no attempt was made"];
  while (!options.signal.aborted) {
    const wrong = await ask(start, url, options.judge);
    row = wrong === undefined ? row + 1 : 0;
    problem = wrong ?? problem;
    if (row >= answersInARow) return;
    if (wrong !== undefined && performance.now() >= until) break;
    if (wrong !== undefined)
      await sleep(options.pauseMs ?? 1_000, undefined, { signal: options.signal }).catch(() => undefined);
  }
  throw new CheckFailure(
    `${start.name} does not reach ${url.length > 200 ? `${url.slice(0, 60)}... (${url.length} characters)` : url}: ${problem}`,
    options.lookAt,
  );
}

async function ask(start: ProbeStart, url: string, judge: ReachOptions["judge"]): Promise<string | undefined> {
  try {
    const { code, stdout, stderr } = await start.run(curl(start.os, url));
    return code === 0 ? judge(stdout.trim()) : `curl ended with ${code}: ${stderr.trim() || "no message"}`;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Nothing may answer, and the command must work. Else a probe that cannot fail would pass (as upstream's Windows
 * connectivity test did: kubernetes/kubernetes test/e2e/windows/hybrid_network.go).
 *
 * @throws CheckFailure
 */
export async function staysSilent(
  start: ProbeStart,
  url: string,
  lookAt?: string,
  options: readonly string[] = [],
): Promise<void> {
  const { code, stdout, stderr } = await start.run(curl(start.os, url, options)).catch((error: unknown) => {
    throw new CheckFailure(`${start.name} cannot run curl: ${messageOf(error)}`, lookAt);
  });
  if (code === 0)
    throw new CheckFailure(
      `${start.name} got an answer from ${url}, where there must be none: ${stdout.trim().slice(0, 200)}`,
      lookAt,
    );
  if (!unanswered.has(code))
    throw new CheckFailure(
      `${start.name} could not ask ${url}: curl ended with ${code}: ${stderr.trim() || "no message"}`,
      lookAt,
    );
}
