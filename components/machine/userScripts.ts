import type { PoolSpec } from "../model/pools.ts";
import type { PayloadFile } from "./payload.ts";

type UserScripts = Pick<PoolSpec, "timeZone" | "annotations" | "beforeJoin" | "afterJoin">;

/** Whether a stage of the user's own steps has something to do on a pool's machines. */
export function hasUserStage(pool: UserScripts, stage: "before" | "after"): boolean {
  return stage === "before"
    ? pool.timeZone !== undefined || pool.beforeJoin !== undefined
    : pool.afterJoin !== undefined || annotationPatch(pool) !== undefined;
}

/** The node's annotations, which its kubelet may write, for `kubectl patch --patch-file`, which takes any text. */
export function annotationPatch({ annotations }: Pick<UserScripts, "annotations">): string | undefined {
  return Object.keys(annotations).length === 0 ? undefined : `${JSON.stringify({ metadata: { annotations } })}\n`;
}

/** Files of the user's own steps. */
export function userFiles(
  pool: UserScripts,
  paths: Readonly<Record<"before" | "after" | "patch", string>>,
): readonly PayloadFile[] {
  const contents = { before: pool.beforeJoin, after: pool.afterJoin, patch: annotationPatch(pool) };
  return (["before", "after", "patch"] as const).flatMap((name): PayloadFile[] => {
    const content = contents[name];
    return content === undefined ? [] : [{ path: paths[name], content }];
  });
}
