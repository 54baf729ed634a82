import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { WindowsPool } from "../../model/pools.ts";
import type { CloudAccess } from "../cloudAccess.ts";
import { annotationPatch, hasUserStage, loginFiles, type PayloadFile } from "../payload.ts";
import { mirrorLogin, proxyUrl } from "../proxy.ts";
import { windowsPaths } from "./paths.ts";
import { containerdEnvironment } from "./services.ts";

/** Files in which curl and the stage `proxy` find logins: `curlArguments` names the first. */
export function loginSettings(spec: NodeSettings): readonly PayloadFile[] {
  const { proxy } = spec.credentials;
  const curl = (proxy ? `proxy = "${proxyUrl(spec)}"\n` : "") + (mirrorLogin(spec) ?? "");
  return [
    ...(curl === "" ? [] : [{ path: windowsPaths.curlLogins, content: curl }]),
    ...(proxy
      ? [{ path: windowsPaths.containerdEnvironment, content: `${containerdEnvironment(spec).join("\n")}\n` }]
      : []),
  ];
}

/** Input of the stages `credentials` and `proxy`; nothing without logins, so that other machines stay as they are. */
export function loginData({ credentials }: CloudAccess, configs: readonly PayloadFile[]) {
  if (credentials === undefined) return {};
  return {
    credentials: { secret: credentials, files: loginFiles(configs), environment: windowsPaths.containerdEnvironment },
  };
}

/** Where the files of the user's own steps are. */
export const userPaths = {
  before: windowsPaths.beforeJoin,
  after: windowsPaths.afterJoin,
  patch: windowsPaths.nodePatch,
} as const;

/** Input of the stages of the user's own steps; nothing where there are none, so that machines stay as they are. */
export function userScriptData(pool: WindowsPool) {
  const path = (text: string | undefined, file: string) => (text === undefined ? null : file);
  if (!hasUserStage(pool, "before") && !hasUserStage(pool, "after")) return {};
  return {
    own: {
      timeZone: pool.timeZone ?? null,
      before: path(pool.beforeJoin, userPaths.before),
      after: path(pool.afterJoin, userPaths.after),
      patch: path(annotationPatch(pool), userPaths.patch),
    },
  };
}
