/**
 * The number that a quantity of Kubernetes stands for: `250m` is 0.25, `1Ki` 1024.
 *
 * @throws RangeError when it is none
 */
export function quantity(text: string): number {
  const [, number, unit = "", binary] = /^([\d.]+(?:[eE][+-]?\d+)?)([numkKMGTPE]?)(i?)$/.exec(text) ?? [];
  const power = "num kMGTPE".indexOf(unit.toUpperCase() === "K" ? "k" : unit || " ") - 3;
  const value = Number(number) * (binary === "i" ? 1024 : 1000) ** power;
  if (Number.isNaN(value)) throw new RangeError(`${text} is no quantity`);
  return value;
}
