import { expectEqual } from "../../check/check.ts";
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
  const { httpProxy, issuers = [], proxied } = mirror;
  return {
    id: "mirror: nothing else",
    title: "no machine looked for another host, and each used the proxy where there is one",
    run: async ({ note }) => {
      const names = lookUps
        .filter(({ name }) => !issuers.includes(name))
        .map(({ caller, name }) => `${name} by ${caller}`);
      expectEqual([...new Set(names)], [], "names that machines looked up and that this network does not have");
      const refused = proxied.filter((request) => request.refused);
      expectEqual([...new Set(refused.map(({ target }) => target))], [], "hosts that the proxy refused");
      const callers = [...new Set(proxied.map(({ caller }) => caller))].sort();
      const users = httpProxy === undefined ? [] : running().map(({ address }) => address);
      expectEqual(callers, users.sort(), "machines that used the proxy");
      note(`${proxied.length} requests by the proxy`);
    },
  };
}
