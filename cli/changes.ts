import path from "node:path";
import { Command as Declaration, Option } from "@commander-js/extra-typings";
import { hasPassphrase, readStackFile } from "../components/config/stackFile.ts";
import { reaches } from "../plan/report/findings.ts";
import { makePlan } from "../plan/report/makePlan.ts";
import { planFiles } from "../plan/report/markdown.ts";
import { type ComparedStack, compareStacks } from "./changes/compare.ts";
import { changesFile, statusWords } from "./changes/stackChange.ts";
import { commandOf, type ExitCode, exitCodes, lostData, requireFolder, type Terminal } from "./exit.ts";
import { npmCi, openCheckout } from "./gitBase.ts";
import { writePlan } from "./plan.ts";
import { changesJson } from "./printed.ts";
import { findProject, namesIn, stacksOf, useTransforms } from "./project.ts";

const declaration = new Declaration()
  .description(
    "Plans every stack as it is here and as it was at REF, and says which of them change. Needs no account, no credentials and no root.",
  )
  .requiredOption("--since <REF>", "commit, branch or tag of this repository")
  .option("--stack-dir <DIR>", "folder with the stack files, in place of the project's")
  .option(
    "--install",
    "install the packages of REF with npm ci when its package-lock.json is another one; needs the network",
  )
  .option(
    "--out <DIR>",
    `write what became of every stack to DIR/${changesFile}, and the plan and comparison of each that is new or changed to DIR/STACK`,
  )
  .addOption(
    new Option(
      "--fail-on <LEVEL>",
      "exit with 3 where nothing is wrong, but an update loses data, addresses or their protection",
    ).choices([lostData]),
  )
  .option("--json", "print that file in place of the list");

export const command = commandOf(declaration, changes, {
  codes: {
    1: "a stack cannot be planned, its change is refused, or its plan has a finding of the level error",
    3: `with --fail-on ${lostData}: an update loses data, addresses or their protection`,
  },
});

type Options = ReturnType<typeof declaration.opts>;

async function changes(values: Options, { out, progress }: Terminal): Promise<ExitCode> {
  requireFolder("--out", values.out);
  const compared = await compareSince(values, progress);
  const text = changesJson(compared.map(({ change }) => change));
  if (values.out !== undefined)
    writePlan(values.out, [{ path: changesFile, content: text }, ...compared.flatMap(files)]);
  out(values.json ? text : compared.map(line).join(""));
  return compared.some(
    ({ change, plan }) =>
      change.status === "failed" || (change.overview?.refused ?? 0) > 0 || reaches(plan?.findings ?? [], "error"),
  )
    ? exitCodes.findings
    : values.failOn !== undefined && compared.some(({ change }) => (change.overview?.lost ?? 0) > 0)
      ? exitCodes.lostData
      : exitCodes.fine;
}

async function compareSince(
  { since, install, stackDir }: Options,
  progress: Terminal["progress"],
): Promise<readonly ComparedStack[]> {
  const folder = stacksOf(stackDir === undefined ? findProject() : { stacks: path.resolve(stackDir) });
  const stacks = namesIn(folder);
  useTransforms(folder);
  progress(`reading ${since}`);
  const base = await openCheckout(since, { option: "--since", stackDir, ...(install && { install: npmCi }) });
  try {
    return await compareStacks(
      base,
      {
        stacks,
        plan: async (stack, account) =>
          makePlan({
            ...{ stack, account },
            ...{ config: readStackFile(stack, folder), passphrase: hasPassphrase(stack, folder) },
          }),
      },
      progress,
    );
  } finally {
    base.close();
  }
}

function files({ change, plan }: ComparedStack) {
  if (plan === undefined || change.status === "same") return [];
  return [...planFiles(plan), { path: "changes.txt", content: line({ change, plan }) }].map((file) => ({
    ...file,
    path: path.posix.join(change.stack, file.path),
  }));
}

function line({ change: { stack, status, reason, nodes, values, findings, files } }: ComparedStack): string {
  const details = [reason, nodes, values, findings, files]
    .filter((text) => text !== "")
    .map((text) => text.trimEnd().replaceAll(/^(?=.)/gm, "  "));
  return [`${stack}: ${statusWords[status]}`, ...details, ""].join("\n");
}
