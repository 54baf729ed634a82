import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { CloudAccess } from "../cloudAccess.ts";
import { loginFiles } from "../loginFiles.ts";
import type { PayloadFile } from "../payload.ts";
import { mirrorLogin, proxyUrl } from "../proxy.ts";
import { windowsPaths } from "./paths.ts";
import { containerdEnvironment } from "./services.ts";

/** Files in which curl and the stage `proxy` find logins: `curlArguments` names the first. */
export function loginSettings(spec: NodeSettings): readonly PayloadFile[] {
  const { proxy } = spec.credentials;
  const curl = (proxy ? `proxy = "${proxyUrl(spec)}"\n` : "") + (mirrorLogin(spec) ?? "");
  return [
    ...(curl === "" ? [] : [{ path: windowsPaths.curlLogins, content: curl }]),
    ...(proxy ? [{ path: windowsPaths.containerdEnvironment, content: `${containerdEnvironment(spec).join("\n")}\n` }] : []),
  ];
}

/** What the stages `credentials` and `proxy` need to know; nothing without logins, so that other machines stay as they are. */
export function loginData({ credentials }: CloudAccess, configs: readonly PayloadFile[]) {
  if (credentials === undefined) return {};
  return { credentials: { secret: credentials, files: loginFiles("windows", configs), environment: windowsPaths.containerdEnvironment } };
}
