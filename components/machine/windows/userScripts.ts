import type { WindowsPool } from "../../model/pools.ts";
import type { PayloadFile } from "../payload.ts";
import { annotationPatch, hasUserStage } from "../userScripts.ts";
import { windowsPaths } from "./paths.ts";

/** Files of the user's own steps. */
export function userFiles(pool: WindowsPool): readonly PayloadFile[] {
  const contents = { beforeJoin: pool.beforeJoin, afterJoin: pool.afterJoin, nodePatch: annotationPatch(pool) };
  return (["beforeJoin", "afterJoin", "nodePatch"] as const).flatMap((name): PayloadFile[] => {
    const content = contents[name];
    return content === undefined ? [] : [{ path: windowsPaths[name], content }];
  });
}

/** Input of the stages of the user's own steps: nothing where there are none, so that other pools' machines stay as they are. */
export function userScriptData(pool: WindowsPool) {
  const path = (text: string | undefined, file: string) => (text === undefined ? null : file);
  if (!hasUserStage(pool, "before") && !hasUserStage(pool, "after")) return {};
  return {
    own: {
      timeZone: pool.timeZone ?? null,
      before: path(pool.beforeJoin, windowsPaths.beforeJoin),
      after: path(pool.afterJoin, windowsPaths.afterJoin),
      patch: path(annotationPatch(pool), windowsPaths.nodePatch),
    },
  };
}
