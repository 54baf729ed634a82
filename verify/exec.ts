import { Writable } from "node:stream";
import { Exec, type KubeConfig, type V1Status } from "@kubernetes/client-node";
import { z } from "zod";

/** What a command in a pod left. */
export interface ExecResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in a pod of the run. Throws when it cannot be run at all: no such pod, no way to its kubelet. */
export type Execute = (pod: string, command: readonly string[]) => Promise<ExecResult>;

/** Longest that one command may take, in milliseconds. */
const limitMs = 60_000;

/** Commands in the probe container of pods of a namespace, by the API server and the kubelet, as `kubectl exec` does it. */
export function executor(config: KubeConfig, namespace: string): Execute {
  return async (pod, command) => {
    // Bytes, since a character may be cut in two between chunks.
    const output: { readonly stdout: Buffer[]; readonly stderr: Buffer[] } = { stdout: [], stderr: [] };
    const collect = (name: keyof typeof output): Writable =>
      new Writable({
        write: (chunk: Buffer, _encoding, done) => {
          output[name].push(chunk);
          done();
        },
      });
    const textOf = (name: keyof typeof output): string => Buffer.concat(output[name]).toString("utf8");
    const end = Promise.withResolvers<V1Status>();
    // A failure before the socket is there is thrown by the call itself; this keeps the other promise from being unheard of.
    end.promise.catch(() => undefined);
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
        collect("stdout"),
        collect("stderr"),
        null,
        false,
        (status) => end.resolve(status),
      );
      socket.addEventListener("close", () => end.reject(new Error(`the connection to pod ${pod} broke off`)));
      try {
        const code = exitCode(await end.promise);
        return { code, stdout: textOf("stdout"), stderr: textOf("stderr") };
      } finally {
        socket.close();
      }
    } catch (error) {
      throw new Error(`exec in pod ${pod}: ${socketMessage(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  };
}

const causes = z.array(z.looseObject({ reason: z.string().optional(), message: z.string().optional() }));

/**
 * Exit code by the status that ends the stream (kubernetes/kubernetes: staging/src/k8s.io/apimachinery/pkg/util/remotecommand).
 * @throws Error when the command was not run, for example because the container has no such program
 */
export function exitCode({ status, message, reason, details }: V1Status): number {
  if (status === "Success") return 0;
  if (reason === "NonZeroExitCode") {
    const found = causes.safeParse(details?.causes);
    const code = found.success ? found.data.find((cause) => cause.reason === "ExitCode")?.message : undefined;
    if (code !== undefined && /^\d+$/.test(code)) return Number(code);
  }
  throw new Error(message ?? reason ?? "ended without a word");
}

/** WebSocket libraries throw an event and not always an error. */
function socketMessage(error: unknown): string {
  return typeof error === "object" && error !== null && "message" in error && typeof error.message === "string"
    ? error.message
    : String(error);
}
