import type { Cost } from "./estimate.ts";

/** The sum in words: `about 1150`, `at least 900`, `unknown`. */
export function costInWords({ date, known, complete }: Cost): string {
  if (date === null || (known === 0 && !complete)) return "unknown";
  return `${complete ? "about" : "at least"} ${Math.round(known)} US dollars a month`;
}

/** The sum as a sentence. */
export function costSentence(cost: Cost): string {
  return `${costInWords(cost).replace(/^./, (letter) => letter.toUpperCase())}.`;
}

/** A line's amount. */
export function amountInWords(month: number | null): string {
  return month === null ? "unknown" : String(Math.round(month));
}

/** What the figures are, and what is not in them. */
export function costNote({ date }: Cost): string {
  return date === null
    ? "The price file has no prices of this region."
    : `An estimate from list prices of ${date} for 730 hours: without tax, discounts, traffic, snapshots, and what Services and claims create.`;
}
