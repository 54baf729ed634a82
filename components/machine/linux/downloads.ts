import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { PayloadFile } from "../payload.ts";
import { mirrorLogin, noProxy, proxyUrl } from "../proxy.ts";
import { envFile, shellQuote } from "./shell.ts";

/** Folder of curl's configuration with the login of the mirror. */
const curlHome = "/etc/fenestra/curl";

/** Proxy and logins of downloads, and the proxy of image pulls; nothing else uses them. */
export function downloadFiles(spec: NodeSettings): readonly PayloadFile[] {
  const url = proxyUrl(spec);
  const login = mirrorLogin(spec);
  const proxy =
    url === undefined
      ? ""
      : `${envFile({ HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: noProxy(spec) })}http_proxy=${shellQuote(url)}\n`;
  // curl looks for its configuration in the folder that CURL_HOME names (curl(1), --config): no command line shows what
  // is in it.
  const curl = login === undefined ? "" : envFile({ CURL_HOME: curlHome });
  return [
    ...(proxy + curl === "" ? [] : [{ path: "/etc/fenestra/proxy.env", content: proxy + curl }]),
    ...(login === undefined ? [] : [{ path: `${curlHome}/.curlrc`, content: login }]),
  ];
}
