import type { Outcome } from "../../components/gates/account/question.ts";
import type { Answer, Preflight } from "../../components/gates/account/run.ts";
import { counted } from "../../plan/billed.ts";
import { type Paint, plain } from "../report.ts";

const colours = { refused: "red", doubtful: "yellow", "not asked": "yellow", fine: "green" } as const;

/** One answer as lines, its worst first. */
export function answerText({ id, outcome, objections }: Answer, paint: Paint = plain): string {
  const line = (what: Outcome, text: string): string =>
    `${paint(colours[what], (what === "refused" ? "REFUSED" : what).padEnd(9))}  ${id.padEnd(17)}  ${text}\n`;
  if (outcome === "fine") return line("fine", "nothing against it");
  return objections
    .map(
      ({ outcome: each, text, mend }) =>
        line(each, text) + (mend === undefined ? "" : `${" ".repeat(11)}mend: ${mend}\n`),
    )
    .join("");
}

/** Numbers, and rights that would answer the rest. */
export function summary({ answers, calls, missingRights }: Preflight, seconds: number): string {
  const count = (outcome: Outcome): string => `${answers.filter((each) => each.outcome === outcome).length} ${outcome}`;
  const lines = [
    `${counted(answers.length, "question")}, ${counted(calls, "call")}, ${seconds.toFixed(1)} s: ${count("refused")}, ${count("doubtful")}, ${count("not asked")}. Fine means that nothing was found against it`,
    ...(missingRights.length === 0 ? [] : [`rights that would answer the rest: ${missingRights.join(", ")}`]),
  ];
  return `${lines.join("\n")}\n`;
}
