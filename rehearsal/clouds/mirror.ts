import { createHash } from "node:crypto";
import type { MirrorFile } from "../../plan/report/mirrorList.ts";
import { basicAuthorization, basicChallenge } from "./proxy.ts";
import type { EndpointHandler } from "./server.ts";

/** A request to the mirror. */
export interface MirrorRequest {
  /** URL of the request, below the mirror's own name. */
  readonly url: string;
  readonly status: 200 | 401 | 404;
}

/** A mirror of files. */
export interface FilledMirror {
  readonly handle: EndpointHandler;
  /** Every request so far, a live list. */
  readonly requests: readonly MirrorRequest[];
  /** Is never fulfilled; rejected by the first request for a file that the mirror does not hold, or without its login. */
  readonly lacks: Promise<never>;
}

/** A machine asked the mirror for a file that the list does not name. */
export class MirrorLacksError extends Error {
  override readonly name = "MirrorLacksError";
  constructor(url: string) {
    super(`a machine wants ${url}, and there is only what \`fenestra mirror --list\` names`);
  }
}

/** Where a mirror holds a publisher's file, as the help of `fenestra mirror` has it: below its base URL, host and path. Without one it stays. */
export function placeOnMirror(base: string | undefined, url: string): string {
  if (base === undefined) return url;
  const { host, pathname } = new URL(url);
  return `${base.replace(/\/+$/, "")}/${host}${pathname}`;
}

/**
 * A mirror that is filled from the list of `fenestra mirror --list` and from nothing else.
 *
 * @param base base URL of the mirror; without one these are the publishers themselves
 * @param files files of the list
 * @param contents a file by its place on the mirror
 * @param login `user:password` that every request must carry; `undefined` for none
 */
export function filledMirror(
  base: string | undefined,
  files: readonly MirrorFile[],
  contents: (place: string) => Buffer,
  login?: string,
): FilledMirror {
  const held = new Map<string, Buffer>();
  for (const { url, checksumUrl } of files) {
    const place = placeOnMirror(base, url);
    const content = contents(place);
    held.set(place, content);
    if (checksumUrl === null) continue;
    // A publisher may have one checksum file for all files of a release.
    const sum = `${createHash("sha256").update(content).digest("hex")}  ${url.split("/").at(-1)}\n`;
    const at = placeOnMirror(base, checksumUrl);
    held.set(at, Buffer.concat([held.get(at) ?? Buffer.alloc(0), Buffer.from(sum)]));
  }
  const requests: MirrorRequest[] = [];
  const lacking = Promise.withResolvers<never>();
  // Nobody may be waiting any more.
  lacking.promise.catch(() => undefined);
  return {
    requests,
    lacks: lacking.promise,
    handle: ({ caller, host, url: path, headers }) => {
      const url = `${base === undefined ? `https://${host}` : new URL(base).origin}${path}`;
      if (login !== undefined && headers.authorization !== basicAuthorization(login)) {
        requests.push({ url, status: 401 });
        lacking.reject(new Error(`${caller} asks the mirror for ${url} without its login`));
        return { status: 401, headers: { "www-authenticate": basicChallenge } };
      }
      // The root of a registry's API says that it is one (OCI distribution specification, end-1). Images are not simulated.
      if (path.startsWith("/v2/")) return { status: 200, body: "{}" };
      const body = held.get(url);
      requests.push({ url, status: body === undefined ? 404 : 200 });
      if (body !== undefined) return { status: 200, body };
      lacking.reject(new MirrorLacksError(url));
      return { status: 404 };
    },
  };
}
