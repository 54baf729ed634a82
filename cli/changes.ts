import path from "node:path";
import { parseArgs } from "node:util";
import { readStackFile, stackNames } from "../components/config/stackFile.ts";
import { planFiles } from "../plan/report/files.ts";
import { reaches } from "../plan/report/findings.ts";
import { makePlan } from "../plan/report/makePlan.ts";
import { type ComparedStack, compareStacks } from "./changes/compare.ts";
import { changesFile, changesJson, statusWords } from "./changes/stackChange.ts";
import { type Command, type ExitCode, exitCodes, lostData, type Terminal, UsageError } from "./exit.ts";
import { npmCi, openCheckout } from "./gitBase.ts";
import { writePlan } from "./plan.ts";
import { findProject, programEntry, stacksOf, useTransforms } from "./project.ts";

const help = `Usage: fenestra changes --since REF [options]

Plans every stack as it is here and as it was at REF, and says which of them change. Needs no account, no credentials and no root.

  --since REF        commit, branch or tag of this repository
  --stack-dir DIR    folder with the stack files, in place of the project's
  --install          install the packages of REF with npm ci when its package-lock.json is another one; needs the network
  --out DIR          write what became of every stack to DIR/${changesFile}, and the plan and comparison of each that is new or changed to
                     DIR/STACK
  --fail-on lost-data  exit with ${exitCodes.lostData} where nothing is wrong, but an update loses data, addresses or their protection
  --json             print that file in place of the list

Exit code 1: a stack cannot be planned, its change is refused, or its plan has a finding of the level error.
`;

export const command: Command = { help, run: changes };

async function changes(args: readonly string[], { out }: Terminal): Promise<ExitCode> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      since: { type: "string" },
      "stack-dir": { type: "string" },
      install: { type: "boolean", default: false },
      out: { type: "string" },
      "fail-on": { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  if (values.since === undefined) throw new UsageError("changes needs --since REF");
  if (![undefined, lostData].includes(values["fail-on"]))
    throw new UsageError(`--fail-on ${values["fail-on"]} is not known; allowed: ${lostData}`);
  const compared = await compareSince(values.since, values.install, values["stack-dir"]);
  const text = changesJson(compared.map(({ change }) => change));
  if (values.out !== undefined)
    writePlan(values.out, [{ path: changesFile, content: text }, ...compared.flatMap(files)]);
  out(values.json ? text : compared.map(line).join(""));
  return compared.some(
    ({ change, plan }) =>
      change.status === "failed" || (change.overview?.refused ?? 0) > 0 || reaches(plan?.findings ?? [], "error"),
  )
    ? exitCodes.findings
    : values["fail-on"] !== undefined && compared.some(({ change }) => (change.overview?.lost ?? 0) > 0)
      ? exitCodes.lostData
      : exitCodes.fine;
}

async function compareSince(
  ref: string,
  install: boolean,
  stackDir: string | undefined,
): Promise<readonly ComparedStack[]> {
  const project = findProject();
  const folder = stacksOf({ stacks: stackDir === undefined ? project.stacks : path.resolve(stackDir) });
  useTransforms(folder);
  const base = openCheckout(ref, {
    repository: project.root,
    option: "--since",
    stackDir,
    ...(install ? { install: npmCi } : {}),
  });
  try {
    return await compareStacks(
      { stacks: base.stacks, plan: async (stack) => base.plan(stack) },
      {
        stacks: stackNames(folder),
        plan: async (stack, account) =>
          makePlan({ stack, config: readStackFile(stack, folder), entry: programEntry, account }),
      },
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
