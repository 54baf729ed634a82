import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Command as Declaration, Option } from "@commander-js/extra-typings";
import { poll } from "../components/gates/poll.ts";
import { skipVariable } from "../components/gates/startGate.ts";
import { fileProblem } from "../components/model/files.ts";
import {
  commandOf,
  exitCodes,
  requireFolder,
  requireWritable,
  runPart,
  several,
  type Terminal,
  UsageError,
} from "./exit.ts";
import { isOnlyOf } from "./kubeconfig.ts";
import { stackChoices, stackOption } from "./project.ts";
import { hasNothing, type Look } from "./up/engine.ts";
import type { Notes } from "./up/evidence.ts";
import { approvedIn, driftStep, pluginsStep, writtenStep } from "./up/pipeline.ts";
import type { Place } from "./up/places.ts";
import { inSession, pulumiLine, type Session, watched } from "./up/session.ts";
import { byFenestra, Declined, quoted, runLine, type Step } from "./up/steps.ts";

const declaration = new Declaration()
  .description(
    "Makes or updates a stack in the cloud, from an account to a cluster that was checked: preflight; a place for the state, with its key, made once for an account; the stack; a preview and a question; the update; the kubeconfig; verify. Each step is printed as the commands that do the same by hand, and left out where it is done: after Ctrl-C, a lost network or an ended login the same command goes on. PULUMI_BACKEND_URL and PULUMI_SECRETS_PROVIDER name another place of the state. It runs Pulumi's own CLI, and aws or az for the state's place.",
  )
  .option(...stackOption)
  .option("--yes", "update without a question, for machines")
  .option("--kubeconfig <FILE>", "where the administrator's kubeconfig goes, for its owner alone", "kubeconfig")
  .option("--skip <ID>", "leave a question of preflight out; may be given several times", several)
  .option("--skip-verify", "do not check the cluster, which makes a load balancer and a disk for a short time")
  .option(
    "--evidence <FILE>",
    "write what another person needs to judge this run, also a failed one: versions, times, conditions, events, answers of checks; no secret",
  )
  .option("--new", "make the stack although its file says that it was made before")
  .option("--api-away", "leave the objects of Kubernetes out of what is read, to repair a cluster whose API is away")
  .option("--plugins", "for pipelines: only fetch Pulumi's plug-ins for the stack's cloud, before anybody signs in")
  .addOption(
    new Option(
      "--drift",
      "for pipelines: only compare, and fail where the cloud differs from what is recorded",
    ).conflicts("plugins"),
  )
  .addOption(
    new Option(
      "--preview <DIR>",
      "for pipelines: only write there what an update would do, where it would do anything",
    ).conflicts(["plugins", "drift"]),
  )
  .addOption(
    new Option(
      "--approved <DIR>",
      "for pipelines: only update, without a question, where it does what --preview has written there",
    ).conflicts(["plugins", "drift", "preview"]),
  );

type Options = ReturnType<typeof declaration.opts>;

export const command = commandOf(
  declaration,
  async (values, terminal) => {
    const { plugins, drift, preview, approved, evidence } = values;
    const once = plugins || drift || preview !== undefined || approved !== undefined;
    if (!values.yes && !once && terminal.ask === undefined)
      throw new UsageError("up needs an answer before it updates; allowed: a terminal, or --yes");
    if (approved !== undefined) approvedIn(approved);
    // A pipeline fetches them in a step of its own.
    if (once) process.env.PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION = "true";
    requireFolder("--preview", preview);
    if (evidence !== undefined) requireWritable("--evidence", evidence);
    const folder = mkdtempSync(path.join(tmpdir(), "fenestra-up-"));
    const notes: Notes = {
      ...{ startedAt: new Date().toISOString(), steps: [], timeline: [] },
      junit: path.join(folder, "junit.xml"),
    };
    try {
      return await inSession(
        { name: "up", stack: values.stack, apiAway: values.apiAway, once, record: (entry) => notes.steps.push(entry) },
        terminal,
        (session) => upSteps(session, values, terminal, notes),
        async (code, session) => {
          if (evidence === undefined) return;
          const { evidenceOf } = await import("./up/evidence.ts");
          writeFileSync(evidence, `${JSON.stringify(await evidenceOf(session, notes, code), null, 2)}\n`);
        },
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  { codes: { 1: "a step failed, was declined, or a check failed" }, complete: { stack: stackChoices } },
);

/** What a person or a pipeline has approved. */
interface Approved {
  look?: Look;
  operations?: readonly string[];
}

function upSteps(session: Session, given: Options, terminal: Terminal, notes: Notes): readonly Step[] {
  const { plugins, drift, preview } = given;
  if (plugins) return [pluginsStep(session)];
  if (drift) return [driftStep(session, terminal)];
  if (preview !== undefined) return [writtenStep(session, preview, terminal)];
  if (given.approved !== undefined)
    return [updateStep(session, given, terminal, { operations: approvedIn(given.approved) }, notes)];
  const approved: Approved = {};
  refuseLostKubeconfig(session.spec.name, given.kubeconfig);
  return [
    preflightStep(session, given, terminal),
    ...placeSteps(session.place),
    stackStep(session, given),
    previewStep(session, given, terminal, approved),
    updateStep(session, given, terminal, approved, notes),
    kubeconfigStep(session, given),
    ...(given.skipVerify ? [] : [verifyStep(given, terminal, notes)]),
  ];
}

function preflightStep(session: Session, { skip = [] }: Options, terminal: Terminal): Step {
  const words = ["--stack", session.stack, ...skip.flatMap((id) => ["--skip", id])];
  return {
    id: "preflight",
    title: "Ask the cloud what it would refuse",
    byHand: [byFenestra("preflight", ...words)],
    isDone: async () => process.env[skipVariable] === "all",
    run: async () => {
      const { command } = await import("./preflight.ts");
      // Before the first `up` the place may not be there.
      const first = (await hasNothing(session.engine).catch(() => false)) ? ["--first"] : [];
      if ((await runPart(command, [...words, ...first], terminal)) !== exitCodes.fine)
        throw new Error("the cloud would refuse what is said above; --skip ID leaves out a question that is wrong");
    },
  };
}

/** Time that a new role may take to reach a service. */
const roleMs = 300_000;

function placeSteps({ things }: Place): readonly Step[] {
  return things.map(({ title, look, make, slow }) => ({
    id: "state",
    title: `State: ${title}`,
    byHand: make,
    isDone: () =>
      runLine(look, AbortSignal.any([])).then(
        () => true,
        () => false,
      ),
    run: async (signal) => {
      const options = { intervalMs: 15_000, limitMs: slow === true ? roleMs : 0, signal };
      for (const line of make) await poll(() => runLine(line, signal), options);
    },
  }));
}

function stackStep({ stack, place, engine, secrets }: Session, given: Options): Step {
  const { backend, provider } = place;
  const shown =
    provider === undefined ? "PROVIDER" : "value" in provider ? quoted(provider.value) : `"$(${provider.line})"`;
  return {
    id: "stack",
    title: "The stack, with that key for its secrets",
    byHand: [
      `export PULUMI_BACKEND_URL=${quoted(backend)}`,
      `pulumi stack init ${quoted(stack)} --secrets-provider ${shown}`,
    ],
    isDone: () => engine.exists(),
    run: async (signal) => {
      if (secrets.encryptedkey !== undefined && !given.new)
        throw new Error(
          `the file of ${stack} says that the stack was made before (encryptedkey), and ${backend} has none of that name: set PULUMI_BACKEND_URL to where it is, or add --new where it is gone`,
        );
      if (provider === undefined)
        throw new Error(
          "set PULUMI_SECRETS_PROVIDER to a key of the cloud: awskms://ALIAS?region=REGION or azurekeyvault://VAULT.vault.azure.net/keys/NAME/VERSION",
        );
      await engine.init("value" in provider ? provider.value : await runLine(provider.line, signal));
      return "commit the stack's file: it has the key of its secrets, encrypted";
    },
  };
}

/** Of operations: `12 create, 3 update`. */
export function counted(operations: readonly string[]): string {
  const groups = Map.groupBy(operations, (line) => line.split(" ")[0] ?? "");
  return [...groups].map(([op, lines]) => `${lines.length} ${op}`).join(", ");
}

function previewStep(session: Session, { yes }: Options, { out, ask }: Terminal, approved: Approved): Step {
  const { stack, engine } = session;
  return {
    id: "preview",
    title: "What an update would do",
    byHand: [byFenestra("up", "--stack", stack, "--preview", "approved")],
    run: async (signal) => {
      const look = await engine.look();
      Object.assign(approved, { look, operations: look.operations });
      if (look.operations.length === 0) return "nothing would change";
      // A first one only makes what the plan shows better.
      out(
        look.first ? `  all is new: ${byFenestra("plan", "--stack", stack)} shows it\n` : `${look.text.trimEnd()}\n\n`,
      );
      if (yes) return counted(look.operations);
      const answer = await ask?.(`Update ${stack} so (${counted(look.operations)})? Only yes does: `);
      signal.throwIfAborted();
      if (answer?.trim() !== "yes") throw new Declined();
      return undefined;
    },
  };
}

function updateStep(
  session: Session,
  { yes }: Options,
  terminal: Terminal,
  approved: Readonly<Approved>,
  { timeline }: Notes,
): Step {
  const { stack, engine } = session;
  return {
    id: "update",
    title: "The update",
    byHand: [byFenestra("up", "--stack", stack, "--approved", "approved")],
    isDone: async () => approved.look?.operations.length === 0,
    run: async () => {
      // What nobody has approved cannot differ from it.
      const now = yes && approved.look !== undefined ? approved.look : await engine.look();
      const differs = difference(approved.operations ?? [], now.operations);
      if (differs.length > 0)
        throw new Error(`what would be done (>) is not what was shown (<): nothing was changed\n${differs.join("\n")}`);
      await engine.take(now);
      await watched(engine.up, terminal, now.operations.length, (line) => timeline.push(line));
    },
  };
}

/** Operations of one list alone, `<` or `>`. */
export const difference = (one: readonly string[], other: readonly string[]): readonly string[] => [
  ...one.filter((line) => !other.includes(line)).map((line) => `< ${line}`),
  ...other.filter((line) => !one.includes(line)).map((line) => `> ${line}`),
];

/** @throws UsageError where a kubeconfig cannot be written, or would take the place of more than this cluster's */
export function refuseLostKubeconfig(cluster: string, file: string): void {
  requireWritable("--kubeconfig", file);
  if (!existsSync(file)) return;
  // A new file takes its place: /dev/null would be gone for all.
  const unread = fileProblem(file);
  if (unread !== undefined) throw new UsageError(`--kubeconfig ${file} ${unread}; allowed: a file`);
  const text = readFileSync(file, "utf8").trim();
  if (text !== "" && !isOnlyOf(cluster, text))
    throw new UsageError(`--kubeconfig ${file} is not the kubeconfig of ${cluster} alone; allowed: another file`);
}

/** Whole or not at all: half of one would be taken for somebody else's. */
export function writeKubeconfig(file: string, text: string): void {
  const next = `${file}.new`;
  // The mode is that of a new file alone.
  rmSync(next, { force: true });
  writeFileSync(next, text, { mode: 0o600, flag: "wx" });
  renameSync(next, file);
}

function kubeconfigStep({ stack, engine }: Session, { kubeconfig: file }: Options): Step {
  return {
    id: "kubeconfig",
    title: "An administrator's kubeconfig",
    byHand: [
      "umask 077",
      `${pulumiLine("stack", "output", "kubeconfig", "--stack", stack, "--show-secrets")} > ${quoted(file)}`,
    ],
    run: async () => {
      const text = await engine.kubeconfig();
      if (text === undefined) throw new Error("the stack has no output kubeconfig");
      writeKubeconfig(file, text);
      return `export KUBECONFIG=${quoted(path.resolve(file))}`;
    },
  };
}

function verifyStep({ kubeconfig }: Options, terminal: Terminal, { junit }: Notes): Step {
  const words = ["--kubeconfig", kubeconfig];
  return {
    id: "verify",
    title: "Check the cluster",
    byHand: [byFenestra("verify", ...words)],
    run: async () => {
      const { command } = await import("./verify.ts");
      if ((await runPart(command, [...words, "--junit", junit], terminal)) !== exitCodes.fine)
        throw new Error("a check failed");
    },
  };
}
