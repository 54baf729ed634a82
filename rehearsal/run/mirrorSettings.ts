import { loadConfig } from "../../components/config/load.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import { proxyTo } from "../../components/gates/proxy.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { makePlan, type PlanRequest } from "../../plan/report/makePlan.ts";
import { mirrorList } from "../../plan/report/mirrorList.ts";
import type { MirrorSettings } from "../clouds/mirror.ts";
import { type KeyAndCertificate, newAuthority } from "../clouds/server.ts";
import type { Breakage } from "./negativeControls.ts";

/** What `fenestra mirror` tells of a stack with a mirror of files or a proxy; `undefined` for others. */
export async function mirrorSettings(
  { stack, config }: PlanRequest,
  stackConfig: StackConfig,
  authority: KeyAndCertificate | undefined,
  change: Breakage["mirror"],
): Promise<MirrorSettings | undefined> {
  const { httpProxy, noProxy = [], proxyCredentials, registryCredentials = {}, mirror, access } = stackConfig;
  const { artifacts } = mirror;
  if (artifacts === undefined && change !== undefined)
    throw new Error(`${stack} has no fenestra:mirror.artifacts, so nothing can be left out of its mirror`);
  if (artifacts === undefined && httpProxy === undefined) return undefined;
  const list = mirrorList(await makePlan({ stack, config }), clusterSpec(stackConfig));
  return {
    artifacts,
    // Machines ask such a mirror themselves, and nothing is left for the proxy.
    httpProxy:
      artifacts === undefined ? httpProxy : proxyTo(artifacts, { HTTPS_PROXY: httpProxy, NO_PROXY: noProxy.join() }),
    proxyLogin: basicLogin(proxyCredentials),
    mirrorLogin: artifacts === undefined ? undefined : basicLogin(registryCredentials[new URL(artifacts).host]),
    authority,
    issuers: access.signIn.map(({ issuer }) => new URL(issuer).hostname),
    list: change?.(list) ?? list,
  };
}

/** A login as in basic authentication. */
function basicLogin(login: StackConfig["proxyCredentials"]): string | undefined {
  return login === undefined ? undefined : `${login.username}:${login.password}`;
}

/** What a user is told of a mirror before its use. */
export function mirrorLine({ artifacts, httpProxy, authority, list }: MirrorSettings): string {
  const files = `the ${list.files.length} files and ${list.images.length} images of \`fenestra mirror\``;
  if (artifacts === undefined) return `proxy: ${httpProxy} leads to ${files}; nothing else can be reached`;
  const way = httpProxy === undefined ? "" : ` by the proxy ${httpProxy}`;
  const trust = authority === undefined ? "" : ", certified by an authority of the stack file,";
  return `mirror: ${artifacts}${trust}${way} holds ${files}; no publisher can be reached`;
}

/** A stack's config with an authority whose key the rehearsal has. */
interface RehearsalCa {
  readonly config: Readonly<Record<string, string>>;
  readonly authority: KeyAndCertificate;
}

/**
 * Puts an authority in place of the first of `certificateAuthorities`, whose key nobody has here. It certifies the
 * mirror and its proxy, which only the payload makes machines trust. `undefined` for a stack without authorities, or
 * without a mirror by HTTPS.
 */
export function withRehearsalCa(config: RehearsalCa["config"]): RehearsalCa | undefined {
  const { certificateAuthorities: [, ...others] = [], mirror } = loadConfig(config);
  if (!("fenestra:certificateAuthorities" in config) || mirror.artifacts?.startsWith("https:") !== true)
    return undefined;
  const authority = newAuthority("Fenestra rehearsal, in place of the stack's");
  const all = JSON.stringify([authority.certificate, ...others]);
  return { config: { ...config, "fenestra:certificateAuthorities": all }, authority };
}
