import { readFileSync, writeFileSync } from "node:fs";
import { Command as Declaration } from "@commander-js/extra-typings";
import { parseDocument } from "yaml";
import { greet } from "../check/cluster/verify.ts";
import { messageOf } from "../components/gates/poll.ts";
import { heldBy, inventory, type Leftover, leftovers } from "./down/leftovers.ts";
import { commandOf, type Terminal, UsageError } from "./exit.ts";
import { clusterIn } from "./kubeconfig.ts";
import { stackChoices, stackOption } from "./project.ts";
import { inSession, pulumiLine, type Session, watched } from "./up/session.ts";
import { Declined, runLine, type Step } from "./up/steps.ts";

const declaration = new Declaration()
  .description(
    "Destroys what a stack has made: says what will be lost and what would be left, asks, destroys, looks for what is left, removes the stack. Load balancers and disks of your own Services and claims are not the stack's: delete those first, while the cluster still runs. Each step is printed as the commands that do the same by hand, and left out where it is done. A production stack refuses until pulumi state unprotect --all.",
  )
  .option(...stackOption)
  .option("--yes", "destroy without a question, for machines")
  .option(
    "--state-too",
    "remove the place of the state and its key at the end, where up made it and no other stack is in it",
  );

type Options = ReturnType<typeof declaration.opts>;

export const command = commandOf(
  declaration,
  async (values, terminal) => {
    if (!values.yes && terminal.ask === undefined)
      throw new UsageError("down needs an answer before it destroys; allowed: a terminal, or --yes");
    return await inSession({ name: "down", stack: values.stack }, terminal, (session) => {
      if (values.stateToo && session.place.remove.length === 0)
        throw new UsageError(
          `--state-too: ${session.place.backend} is a place of yours; allowed: the one that up makes`,
        );
      return downSteps(session, values, terminal);
    });
  },
  { codes: { 1: "something is left, a step failed or was declined" }, complete: { stack: stackChoices } },
);

function downSteps(session: Session, given: Options, terminal: Terminal): readonly Step[] {
  const left: Leftover[] = [];
  return [
    lossStep(session, given, terminal, left),
    destroyStep(session, terminal),
    leftStep(session, terminal, left),
    stackStep(session),
    ...(given.stateToo ? [stateStep(session)] : []),
  ];
}

function lossStep(session: Session, { yes }: Options, terminal: Terminal, left: Leftover[]): Step {
  const { stack, engine } = session;
  const { out, ask } = terminal;
  return {
    id: "loss",
    title: "What will be lost, and what would be left",
    byHand: ["kubectl get services,persistentvolumeclaims,persistentvolumes --all-namespaces"],
    isDone: async () => !(await engine.exists()) || (await engine.state()).length === 0,
    run: async (signal) => {
      out(
        `  ${(await engine.state()).length} resources, etcd with all objects and Secrets of the cluster, and its snapshots\n`,
      );
      out((await lookInside(session, terminal, left)).map((line) => `  ${line}\n`).join(""));
      if (yes) return undefined;
      const answer = await ask?.(`Type ${stack} to destroy it: `);
      signal.throwIfAborted();
      if (answer?.trim() !== stack) throw new Declined();
      return undefined;
    },
  };
}

/** What is in the cluster, for people; what would be left goes to a list. */
async function lookInside({ engine }: Session, terminal: Terminal, left: Leftover[]): Promise<readonly string[]> {
  try {
    const kubeconfig = await engine.kubeconfig();
    if (kubeconfig === undefined) return ["there is no kubeconfig: what is in the cluster is not known"];
    const api = clusterIn(kubeconfig);
    if (await greet(api, terminal)) return ["what is in the cluster is not known"];
    const [found, { items: nodes }] = await Promise.all([inventory(api), api.core.listNode()]);
    left.push(...leftovers(found));
    return [
      `data of ${found.claims.length} claims and ${found.volumes.length} volumes, where their disks go with the stack`,
      ...left.map(({ object, problem, fix }) => `${object}: ${problem}\n    ${fix}`),
      `${left.length} would be left behind`,
      ...heldBy(nodes[0]?.spec?.providerID ?? ""),
    ];
  } catch (error) {
    return [`what is in the cluster is not known: ${messageOf(error)}`];
  }
}

function destroyStep({ stack, spec, engine }: Session, terminal: Terminal): Step {
  const unprotect = pulumiLine("state", "unprotect", "--all", "--stack", stack);
  return {
    id: "destroy",
    title: "Destroy it",
    byHand: [pulumiLine("destroy", "--stack", stack)],
    isDone: async () => !(await engine.exists()) || (await engine.state()).length === 0,
    run: async () => {
      const total = (await engine.state()).length;
      await watched(engine.destroy, terminal, total).catch((error: unknown) => {
        const more =
          spec.environment === "production" ? `\na production stack protects its data; to let it go: ${unprotect}` : "";
        throw new Error(`${messageOf(error)}${more}`);
      });
      return undefined;
    },
  };
}

/** Lines that list what the cloud still has of a cluster. */
export function lookLines({
  name,
  cloud,
  region,
}: Pick<Session["spec"], "name" | "cloud" | "region">): readonly string[] {
  if (cloud === "azure") return [`az group exists --name fenestra-${name} | grep true || true`];
  const tagged = (filter: string): string =>
    `aws resourcegroupstaggingapi get-resources --region ${region} --tag-filters ${filter} --query 'ResourceTagMappingList[].ResourceARN' --output text`;
  return [
    tagged(`Key=fenestra:cluster,Values=${name}`),
    tagged(`Key=kubernetes.io/cluster/${name}`),
    `aws ec2 describe-volumes --region ${region} --filters Name=tag-key,Values=kubernetes.io/cluster/${name} --query 'Volumes[].VolumeId' --output text`,
  ];
}

function leftStep({ spec, interrupt }: Session, { out }: Terminal, left: readonly Leftover[]): Step {
  const lines = lookLines(spec);
  return {
    id: "left",
    title: "What is left",
    byHand: lines,
    run: async () => {
      const found: string[] = [];
      // Keys go days later, and ended machines are listed for an hour.
      for (const line of lines)
        found.push(
          ...(await runLine(line, interrupt.signal))
            .split(/\s+/)
            .filter((id) => !/^(|None)$|:kms:|:instance\//.test(id)),
        );
      for (const { object, fix } of left)
        out(`  ${object} was there: its load balancer or disk may be left (${fix})\n`);
      if (found.length > 0)
        throw new Error(`the cloud still has\n${[...new Set(found)].join("\n")}\ndelete these, and run it again`);
      return "nothing";
    },
  };
}

function stackStep({ stack, file, engine }: Session): Step {
  return {
    id: "stack",
    title: "The stack, but for its file",
    byHand: [pulumiLine("stack", "rm", "--preserve-config", "--stack", stack)],
    isDone: async () => !(await engine.exists()),
    run: async () => {
      await engine.remove();
      forgetKey(file);
      return undefined;
    },
  };
}

/** Takes the stack's key out of its file, where nothing there is encrypted with it: the next stack has another. */
export function forgetKey(file: string): void {
  const text = readFileSync(file, "utf8");
  if (/\bsecure:/.test(text)) return;
  const document = parseDocument(text);
  for (const key of ["secretsprovider", "encryptedkey"]) document.delete(key);
  writeFileSync(file, document.toString({ lineWidth: 0 }));
}

function stateStep({ place, engine, interrupt }: Session): Step {
  return {
    id: "state",
    title: "The place of the state",
    byHand: place.remove,
    run: async () => {
      const others = await engine.others();
      if (others.length > 0) throw new Error(`other stacks have their state there: ${others.join(", ")}`);
      for (const line of place.remove) await runLine(line, interrupt.signal);
      return undefined;
    },
  };
}
