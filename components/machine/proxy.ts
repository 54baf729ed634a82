import { loginHost, type NodeSettings, registryLogin } from "../model/nodeSettings.ts";
import { placeholders } from "./placeholders.ts";

/** The proxy's URL as machines use it, with a placeholder for its login; `undefined` without a proxy. */
export function proxyUrl({
  httpProxy,
  credentials,
}: Pick<NodeSettings, "httpProxy" | "credentials">): string | undefined {
  return credentials.proxy ? httpProxy?.replace("://", `://${placeholders.proxyLogin}@`) : httpProxy;
}

/**
 * Line of curl's configuration with the login of the mirror of files; `undefined` when it wants none. curl sends such a
 * header to no other host that it is redirected to (curl's CVE-2018-1000007).
 */
export function mirrorLogin({ mirror, credentials }: Pick<NodeSettings, "mirror" | "credentials">): string | undefined {
  const host = loginHost(credentials, mirror.artifacts);
  return host === undefined ? undefined : `header = "Authorization: Basic @${registryLogin(host)}@"\n`;
}

/**
 * Addresses that a machine reaches without the proxy. The Go programs that read NO_PROXY accept networks in CIDR
 * notation (golang.org/x/net/http/httpproxy).
 */
export function noProxy({
  network,
  kubernetes,
  noProxy: own,
}: Pick<NodeSettings, "network" | "kubernetes" | "noProxy">): string {
  return [
    "127.0.0.1",
    "localhost",
    "169.254.169.254",
    ...network.cidrs,
    kubernetes.podCidr,
    kubernetes.serviceCidr,
    ".svc",
    `.${kubernetes.clusterDomain}`,
    ...own,
  ].join(",");
}
