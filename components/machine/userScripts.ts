import type { PoolSpec } from "../model/pools.ts";
import type { PayloadFile } from "./payload.ts";

type UserScripts = Pick<PoolSpec, "timeZone" | "annotations" | "beforeJoin" | "afterJoin">;

/** Whether a pool's machines have a stage of the user's own steps: each only when there is something to do. */
export function hasUserStage(pool: UserScripts, stage: "before" | "after"): boolean {
  return stage === "before"
    ? pool.timeZone !== undefined || pool.beforeJoin !== undefined
    : pool.afterJoin !== undefined || annotationPatch(pool) !== undefined;
}

/**
 * The node's annotations as a patch for `kubectl patch --patch-file`, which takes any text; a kubelet may write those
 * of its own node.
 */
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
