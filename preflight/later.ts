import type { MayStart } from "../components/gates/mayStart.ts";
import type { startCheck } from "./start.ts";

/** `startCheck`, loaded when a gate asks: the clients of the clouds are large. */
export const startCheckLater =
  (spec: Parameters<typeof startCheck>[0]): MayStart =>
  async (...given) =>
    (await import("./start.ts")).startCheck(spec)(...given);
