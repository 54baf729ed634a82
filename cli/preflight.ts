import { isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { askers } from "../check/account/ask.ts";
import { answerText, summary } from "../check/account/report.ts";
import { loadConfig } from "../components/config/load.ts";
import { outcomes } from "../components/gates/account/question.ts";
import { placeOf, simulatedCloud } from "../plan/fakes/cloud.ts";
import { programEntry, runProgram } from "../plan/program/runProgram.ts";
import { commandOf, exitCodes, several, UsageError } from "./exit.ts";
import { jsonOf } from "./printed.ts";
import { readStack, stackChoices, stackCommand } from "./project.ts";

export const command = commandOf(
  stackCommand()
    .description(
      "Asks the cloud, before anything is made, what it would refuse: quotas, sizes, images, rights, rules of the account. Reads only; a dry run is sent where the service has one. Credentials and proxy are those that Pulumi's providers find: AWS_*, ARM_*, HTTPS_PROXY. Fine means that nothing was found against it.",
    )
    .option(
      "--deployer <WHO>",
      "who deploys, when that is not who asks: ARN of a role, object id on Azure; its rights are asked where the cloud tells them",
    )
    .option("--address <ADDRESS>", "your address on the internet, to hold it against fenestra:access")
    .option("--first", "the stack has nothing yet: what has its cluster's name is another's")
    .option("--skip <ID>", "leave a question out; may be given several times", several)
    .option("--strict", "what could not be asked counts as refused")
    .option("--json", "print the answers as JSON"),
  async (values, terminal) => {
    const { out, progress, paint } = terminal;
    const { address, deployer, skip = [] } = values;
    if (address !== undefined && !isIPv4(address))
      throw new UsageError(`--address ${address}; allowed: an IPv4 address such as 203.0.113.7`);
    const { stack, config } = readStack("preflight", values, terminal);
    const { cloud } = loadConfig(config);
    const place = placeOf(config);
    const started = performance.now();
    progress(`asking ${cloud} for ${stack}`);
    const [{ askCloud, questions }, program] = await Promise.all([
      askers[cloud](),
      runProgram({
        entry: programEntry,
        stack,
        config,
        mode: "known-outputs",
        simulate: simulatedCloud(place, "fake"),
      }),
    ]);
    const ids = questions.map(({ id }) => id);
    const unknown = skip.find((id) => !ids.includes(id));
    if (unknown !== undefined) throw new UsageError(`--skip ${unknown}; allowed: ${ids.join(", ")}`);
    const asker = {
      ...(deployer !== undefined && { deployer }),
      ...(address !== undefined && { address }),
      first: values.first === true,
      local: Object.values(networkInterfaces()).flatMap((each = []) =>
        each.filter(({ family, internal }) => family === "IPv4" && !internal).map((one) => one.address),
      ),
    };
    const found = await askCloud({
      ...{ program, place, asker, skip },
      onAnswer: values.json ? () => {} : (each) => out(answerText(each, paint)),
    });
    const seconds = (performance.now() - started) / 1000;
    const answers = found.answers.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
    if (values.json) out(jsonOf("preflight", { stack, cloud, ...found, answers }));
    else out(summary(found, seconds));
    const bad = outcomes.filter((each) => each === "refused" || (values.strict && each === "not asked"));
    return found.answers.some(({ objections }) => objections.some(({ outcome }) => bad.includes(outcome)))
      ? exitCodes.findings
      : exitCodes.fine;
  },
  { codes: { 1: "something is refused" }, complete: { stack: stackChoices } },
);
