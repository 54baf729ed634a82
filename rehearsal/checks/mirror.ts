import { expect, expectEqual } from "../../check/check.ts";
import type { MirrorOnly } from "../clouds/mirror.ts";
import type { LookUp } from "../clouds/server.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";
import type { RehearsalCheck } from "./context.ts";

interface MirrorSources {
  readonly mirror: MirrorOnly;
  /** Hosts looked up that do not exist, a live list. */
  readonly lookUps: readonly LookUp[];
  /** Machines in namespaces, a live list. */
  readonly running: () => readonly LinuxMachine[];
}

/** Of a stack whose machines reached nothing but its mirror. */
export function nothingElseCheck({ mirror, lookUps, running }: MirrorSources): RehearsalCheck {
  const { list, artifacts, httpProxy, proxyLogin, issuers = [], proxied } = mirror;
  const publishers = new Set([
    ...list.files.map(({ url }) => new URL(url).hostname),
    ...list.images.map(({ reference }) => reference.split("/")[0] ?? ""),
  ]);
  return {
    id: "mirror: nothing else",
    title: "no machine looked for another host, and no publisher can be reached",
    run: async ({ note }) => {
      const names = lookUps
        .filter(({ name }) => !issuers.includes(name))
        .map(({ caller, name }) => `${name} by ${caller}`);
      expectEqual([...new Set(names)], [], "names that machines looked up and that this network does not have");
      const refused = proxied.filter((request) => request.refused);
      expectEqual([...new Set(refused.map(({ target }) => target))], [], "hosts that the proxy refused");
      const machines = running();
      if (httpProxy !== undefined) {
        const callers = [...new Set(proxied.map(({ caller }) => caller))].sort();
        expectEqual(callers, machines.map(({ address }) => address).sort(), "machines that used the proxy");
      }
      const [from] = machines;
      expect(from !== undefined, "no machine runs");
      // What follows also shows that look-ups and requests are seen at all.
      for (const host of publishers) {
        const asked = lookUps.length;
        const direct = await head(from, host, ["--noproxy", "*"]);
        expectEqual(direct, cannotResolve, `exit code of curl to ${host}`);
        expect(
          lookUps.slice(asked).some(({ name }) => name === host),
          `the name server did not see the look-up of ${host}`,
        );
        if (httpProxy === undefined || artifacts === undefined) continue;
        const login = proxyLogin === undefined ? [] : ["--proxy-user", proxyLogin];
        expect((await head(from, host, ["--proxy", httpProxy, ...login])) !== 0, `the proxy leads to ${host}`);
        expect(
          proxied.some(({ refused, denied, target }) => refused && !denied && target === `${host}:443`),
          `the proxy did not see the request for ${host}`,
        );
      }
      if (httpProxy !== undefined && proxyLogin !== undefined) {
        const { host } = new URL(artifacts ?? list.files[0]?.url ?? "");
        const asked = proxied.length;
        expect((await head(from, host, ["--proxy", httpProxy])) !== 0, `the proxy leads to ${host} without its login`);
        const denied = proxied.slice(asked).some((request) => request.denied && request.caller === from.address);
        expect(denied, "the proxy did not ask for its login");
      }
      const way =
        httpProxy === undefined ? "" : `; ${proxied.length - refused.length - publishers.size} requests by the proxy`;
      note(`out of reach: ${[...publishers].sort().join(", ")}${way}`);
    },
  };
}

/** curl's exit code for a host name that does not resolve (curl(1)). */
const cannotResolve = 6;

/** Exit code of a curl that asks a host. */
async function head(from: LinuxMachine, host: string, options: readonly string[]): Promise<number> {
  const { code } = await from.run([
    "curl",
    "--silent",
    "--head",
    "--connect-timeout",
    "5",
    ...options,
    `https://${host}/`,
  ]);
  return code;
}
