import type { Artifact } from "../../components/model/artifacts.ts";
import type { Publishers } from "./ask.ts";
import { judge, type PinResult } from "./lock.ts";

/** Asked at the same time: few enough for publishers that count. */
const atOnce = 8;

/** How to pin. */
interface PinOptions {
  readonly acceptMoved?: boolean;
  /** Which artifacts are asked for; the others stay as they are. Default all. */
  readonly chosen?: (artifact: Artifact) => boolean;
}

/** Asks for every artifact and judges the answers, in the order of the lock file. An artifact that is not chosen counts as kept. */
export async function pinLock(
  lock: readonly Artifact[],
  publishers: Publishers,
  { acceptMoved = false, chosen = () => true }: PinOptions,
): Promise<readonly (PinResult | { readonly artifact: Artifact; readonly outcome: "kept"; readonly message: "" })[]> {
  const results = lock.map((artifact) => ({ artifact, outcome: "kept", message: "" }) as const);
  const answered: (PinResult | (typeof results)[number])[] = [...results];
  // One iterator for all workers: each takes the next.
  const waiting = [...lock.entries()].filter(([, artifact]) => chosen(artifact)).values();
  const worker = async (): Promise<void> => {
    for (const [index, artifact] of waiting) answered[index] = judge(artifact, await publishers.ask(artifact), acceptMoved);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return answered;
}

/** What to say, each once: differences first; a host that cannot be reached at all is one line, not one per file. */
export function messages(results: readonly { readonly outcome: string; readonly message: string }[]): readonly string[] {
  const of = (outcome: string) => results.filter((result) => result.outcome === outcome).map(({ message }) => message);
  const failed = of("failed");
  const reasons = Map.groupBy(failed, (message) => message.slice(message.lastIndexOf(": ") + 2));
  const grouped = [...reasons].flatMap(([reason, all]) => [
    ...all.slice(0, 3).map((message) => `✗ ${message}`),
    ...(all.length > 3 ? [`✗ ... and ${all.length - 3} more: ${reason}`] : []),
  ]);
  const advice =
    failed.length > 0 && failed.length === results.filter(({ outcome }) => outcome !== "kept").length
      ? ["No publisher could be reached. Run this where there is internet, or give a mirror by --via URL."]
      : [];
  return [
    ...of("different").map((message) => `✗ ${message}`),
    ...grouped,
    ...advice,
    ...of("moved").map((message) => `! ${message}`),
    ...of("unverified").map((message) => `· ${message}`),
  ];
}
