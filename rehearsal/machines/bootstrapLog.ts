/** A stage that ended sooner than this was not waiting for something that may still come, in seconds. */
const atOnceSeconds = 60;
/** So many failures in a row are no coincidence. */
const failuresInARow = 3;

/**
 * The stage of a Linux machine's bootstrap that fails again and again without waiting for anything, with what it first complained of and its
 * last words; nothing while the bootstrap may still get on. Pure.
 * @param log what components/machine/linux/scripts/bootstrap.sh and its stages have written
 */
export function stuckStage(log: string): string | undefined {
  const lines = log.split("\n");
  const ends = lines.flatMap((line, index) => {
    const [, stage, outcome, seconds] = / bootstrap (\S+): (done|failed) after (\d+) s/.exec(line) ?? [];
    return stage === undefined ? [] : [{ stage, atOnce: outcome === "failed" && Number(seconds) < atOnceSeconds, index }];
  });
  const failed = ends.findLast(({ atOnce }) => atOnce);
  const last = ends.filter(({ stage }) => stage === failed?.stage).slice(-failuresInARow);
  if (failed === undefined || last.length < failuresInARow || !last.every(({ atOnce }) => atOnce)) return undefined;
  const begin = lines.findLastIndex((line, index) => index < failed.index && / bootstrap \S+: /.test(line));
  const words = lines.slice(begin + 1, failed.index).map((line) => line.trim());
  const told = new Set([words.find((line) => /^curl: \(|error:/i.test(line)), words.at(-1)]);
  return `stage ${failed.stage} fails each time: ${[...told].filter((line) => line !== undefined).join("; at last: ")}`;
}
