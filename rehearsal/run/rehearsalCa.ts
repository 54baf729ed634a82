import { loadConfig } from "../../components/config/load.ts";
import { type KeyAndCertificate, newAuthority } from "../../plan/fakes/certificates.ts";

/** A stack's config in which the rehearsal has the key of an authority. */
export interface RehearsalCa {
  readonly config: Readonly<Record<string, string>>;
  readonly authority: KeyAndCertificate;
}

/**
 * Puts an authority in the place of the first of `certificateAuthorities`, whose key nobody has here. The mirror and its proxy are then
 * certified by it, and nothing but the payload makes a machine trust them. `undefined` for a stack without authorities, or without a mirror
 * by HTTPS.
 */
export function withRehearsalCa(config: RehearsalCa["config"]): RehearsalCa | undefined {
  const { certificateAuthorities: [, ...others] = [], mirror } = loadConfig(config);
  if (!("fenestra:certificateAuthorities" in config) || mirror.artifacts?.startsWith("https:") !== true) return undefined;
  const authority = newAuthority("Fenestra rehearsal, in place of the stack's");
  const all = JSON.stringify([authority.certificate, ...others]);
  return { config: { ...config, "fenestra:certificateAuthorities": all }, authority };
}
