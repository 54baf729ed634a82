import { setTimeout as sleep } from "node:timers/promises";
import type { CommandResult } from "../host/command.ts";
import { limitsMs } from "../host/limits.ts";

/**
 * Repeats a call while the control plane gives no answer, as users and controllers do: etcd elects, an API server restarts, a busy host is
 * slow.
 * @param call is told whether it was made before
 * @param isAnswer whether a result is one. Errors are none.
 * @returns the last result, or throws the last error, when the time is up
 */
export async function retryWhileUnavailable<T>(
  call: (again: boolean) => Promise<T>,
  isAnswer: (result: T) => boolean | Promise<boolean>,
): Promise<T> {
  const end = performance.now() + limitsMs.answer;
  for (let again = false; ; again = true) {
    try {
      const result = await call(again);
      if ((await isAnswer(result)) || performance.now() > end) return result;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await sleep(500);
  }
}

/** What kubectl says when there was no answer, or one of the API server that its etcd gave none. What is refused reads otherwise. */
const noAnswer =
  /Unable to connect to the server|server \S+ was refused|unexpected EOF|connection re(set|fused)|connection lost|server is currently unable|\(Timeout\)|Client\.Timeout exceeded|etcdserver: (leader changed|no leader|request timed out|too many requests)/;

/** Whether a kubectl had an answer, good or bad. */
export function hasAnswer({ code, stderr }: CommandResult): boolean {
  return code === 0 || !noAnswer.test(stderr);
}
