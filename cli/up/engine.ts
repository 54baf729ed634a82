import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  type EngineEvent,
  LocalWorkspace,
  PulumiCommand,
  type RefreshOptions,
  Stack,
  type StepEventMetadata,
} from "@pulumi/pulumi/automation/index.js";
import { z } from "zod";
import { compareVersions } from "../../components/model/releases.ts";
import { isWork } from "./progress.ts";
import { type Ended, type Interrupt, run } from "./steps.ts";

/**
 * What is not read. Blobs, the documents of an issuer on Azure: azure-native reads one by its account's key
 * (pulumi-azure-native, custom_storage_azidentity.go), which may also write them. Objects, to repair a stack whose API is
 * away.
 */
export const unread = { blobs: "**azure-native:storage:Blob::*", objects: "**kubernetes:*/*:*::**" };

/** The program runs too: the credentials of the Kubernetes provider are its values. */
const readingOptions = (apiAway: boolean) =>
  ({
    runProgram: true,
    exclude: [unread.blobs, ...(apiAway ? [unread.objects] : [])],
    suppressOutputs: true,
  }) satisfies RefreshOptions;

interface EngineArgs {
  /** Folder of Pulumi.yaml. */
  readonly folder: string;
  /** `name` there. */
  readonly project: string;
  readonly stack: string;
  readonly backend: string;
  readonly command: PulumiCli;
  /** Whether the objects of Kubernetes are not read. */
  readonly apiAway: boolean;
}

/** What an update would do. */
export interface Look {
  /** A line each, which are the same where the same would be done. */
  readonly operations: readonly string[];
  /** For people. */
  readonly text: string;
  /** Whether there is nothing yet. */
  readonly first: boolean;
  /** The state before and after the cloud was read, with encrypted secrets. */
  readonly before: State;
  readonly after: State;
}

type OnEvent = (event: EngineEvent) => void;

/** The stack, as Pulumi's CLI sees it. */
export interface Engine {
  readonly exists: () => Promise<boolean>;
  /** Other stacks in the same place. */
  readonly others: () => Promise<readonly string[]>;
  /** Resources of the state, with encrypted secrets. */
  readonly state: () => Promise<readonly unknown[]>;
  readonly init: (provider: string) => Promise<void>;
  /** What an update would do after the cloud is read, on a copy of the state: neither is written, no lock is taken. */
  readonly look: (onOutput?: (text: string) => void) => Promise<Look>;
  /** Writes what a look has read into the state. @throws Error where somebody has written meanwhile */
  readonly take: (look: Look) => Promise<void>;
  readonly up: (onEvent: OnEvent) => Promise<void>;
  readonly destroy: (onEvent: OnEvent) => Promise<void>;
  /** The output `kubeconfig`; `undefined` without one. */
  readonly kubeconfig: () => Promise<string | undefined>;
  /** Arguments of Pulumi's CLI that fail where the cloud differs from the record. */
  readonly comparison: readonly string[];
  /** Calls it so. */
  readonly call: (words: readonly string[], onOutput?: (text: string) => void) => Promise<void>;
  /** Removes the stack without resources, and leaves its file. */
  readonly remove: () => Promise<void>;
}

/** Whether the stack has no resources, or is none. */
export const hasNothing = async ({ exists, state }: Engine): Promise<boolean> =>
  !(await exists()) || (await state()).length === 0;

/**
 * Pulumi's CLI for the Automation API, which hands Ctrl-C on once.
 *
 * @param range as Pulumi.yaml has it: `>=3.249.0 <4.0.0`
 * @throws Error that says how to get it
 */
export async function findPulumi(range: string, interrupt: Interrupt): Promise<PulumiCli> {
  const [, least = "", below = ""] = /^>=(\S+) <(\S+)$/.exec(range) ?? [];
  const howTo = `get ${least} or newer, below ${below}: curl -fsSL https://get.pulumi.com | sh (https://www.pulumi.com/docs/install/)`;
  // Where the installer puts it, which no open shell has on PATH yet.
  const root = process.env.PULUMI_HOME ?? path.join(homedir(), ".pulumi");
  const found = await PulumiCommand.get().catch(() => PulumiCommand.get({ root }).catch(() => undefined));
  if (found?.version === undefined || found.version === null)
    throw new Error(`there is no Pulumi CLI on PATH; ${howTo}`);
  const version = found.version.toString();
  if (compareVersions(version, least) < 0 || compareVersions(version, below) >= 0)
    throw new Error(`${found.command} is ${version}; ${howTo}`);
  return commandOf(found, interrupt);
}

/** As the Automation API's own, but for Ctrl-C: that would reach the CLI twice, and cut it off. */
function commandOf({ command, version }: PulumiCommand, { signal, follow }: Interrupt) {
  return {
    command,
    version,
    run: async (
      args: readonly string[],
      cwd: string,
      env: Readonly<Record<string, string>>,
      onOutput?: (text: string) => void,
      onError?: (text: string) => void,
    ): Promise<Ended> => {
      signal.throwIfAborted();
      const words = [...args, "--non-interactive"];
      const more = {
        ...{ PULUMI_AUTOMATION_API: "true", PULUMI_SKIP_UPDATE_CHECK: "true" },
        // A stack is made before its file has the key (pkg/cmd/pulumi/stack/io.go, CreateStack): cut off between the
        // two, Pulumi would ask for a passphrase.
        PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER: "true",
      };
      const ended = await run(command, words, { cwd, env: { ...env, ...more }, onOutput, onError, started: follow });
      if (ended.code === 0) return ended;
      const said = ended.stderr.trim() || ended.stdout.trim().split("\n").slice(-20).join("\n");
      throw new Error(`pulumi ${args.slice(0, 2).join(" ")}: ${said}`);
    },
  };
}

type PulumiCli = ReturnType<typeof commandOf>;

const stateShape = z.looseObject({
  version: z.number(),
  deployment: z.looseObject({ resources: z.array(z.unknown()).default([]) }),
});

type State = z.output<typeof stateShape>;

/** A backend in a folder which has that state. */
async function writeCopy(
  folder: string,
  project: string,
  stack: string,
  { deployment, ...state }: State,
): Promise<void> {
  const stacks = path.join(folder, ".pulumi/stacks", project);
  await mkdir(stacks, { recursive: true, mode: 0o700 });
  await writeFile(path.join(folder, ".pulumi/meta.yaml"), "version: 1\n");
  const checkpoint = { stack: `organization/${project}/${stack}`, latest: deployment };
  await writeFile(path.join(stacks, `${stack}.json`), JSON.stringify({ ...state, checkpoint }));
}

const resourceShape = z.looseObject({
  urn: z.string(),
  delete: z.boolean().optional(),
  replacementTrigger: z.unknown().optional(),
});

/**
 * A refresh that runs the program writes its triggers of replacement into the state, and no machine is replaced any more
 * (pulumi/pulumi, pkg/resource/deploy: NewRefreshStep gets the program's options). Those of before are put back.
 */
export function withTriggersOf(before: State, after: State): State {
  const all = ({ deployment }: State) => z.array(resourceShape).parse(deployment.resources);
  const old = new Map(all(before).flatMap((each) => (each.delete ? [] : [[each.urn, each.replacementTrigger]])));
  const resources = all(after).map(({ replacementTrigger, ...rest }) => {
    const trigger = rest.delete ? replacementTrigger : old.get(rest.urn);
    return trigger === undefined ? rest : { ...rest, replacementTrigger: trigger };
  });
  return { ...after, deployment: { ...after.deployment, resources } };
}

/** What is done, to what, and why: of the same stack file the new values are the same. */
export function operationsOf(steps: readonly Step[]): readonly string[] {
  return steps
    .filter(({ op, urn }) => isWork(op) && !/[:$]pulumi:providers:[^:$]+::/.test(urn))
    .map(({ op, urn, detailedDiff, keys }) =>
      [
        op,
        urn,
        ...Object.entries(detailedDiff ?? {}).map(([at, { diffKind }]) => `${at} ${diffKind}`),
        ...(keys ?? []),
      ].join(" "),
    )
    .toSorted();
}

interface Step extends Pick<StepEventMetadata, "op" | "urn" | "detailedDiff"> {
  readonly keys?: readonly string[];
}

/** What the CLI is asked about a stack. */
function callsOf({ folder, stack, backend, command }: EngineArgs) {
  const workspace = (more: Readonly<Record<string, string>> = {}, secretsProvider?: string) =>
    LocalWorkspace.create({
      workDir: folder,
      pulumiCommand: command,
      envVars: { PULUMI_BACKEND_URL: backend, ...more },
      ...(secretsProvider !== undefined && { secretsProvider }),
    });
  // What the Automation API exports has its secrets in clear. Ctrl-C waits for these: they are short, and one writes.
  const ofStack = async (words: readonly string[], more?: Readonly<Record<string, string>>): Promise<string> => {
    const { code, stdout, stderr } = await run(command.command, ["stack", ...words, "--stack", stack], {
      cwd: folder,
      env: { PULUMI_BACKEND_URL: backend, PULUMI_SKIP_UPDATE_CHECK: "true", ...more },
    });
    if (code !== 0) throw new Error(stderr.trim());
    return stdout;
  };
  return {
    workspace,
    ofStack,
    selected: async (more?: Readonly<Record<string, string>>) => Stack.select(stack, await workspace(more)),
    exported: async (more?: Readonly<Record<string, string>>): Promise<State> =>
      stateShape.parse(JSON.parse(await ofStack(["export"], more))),
  };
}

async function inCopy<T>(use: (copy: string) => Promise<T>): Promise<T> {
  const copy = await mkdtemp(path.join(tmpdir(), "fenestra-preview-"));
  try {
    return await use(copy);
  } finally {
    await rm(copy, { recursive: true });
  }
}

export function engineOf(args: EngineArgs): Engine {
  const { project, stack, folder, backend, command } = args;
  const reading = readingOptions(args.apiAway);
  const { workspace, selected, ofStack, exported } = callsOf(args);
  const at = (copy: string) => ({ PULUMI_BACKEND_URL: `file://${copy}` });
  /** Reads the cloud into a copy of the state. */
  const read = async (copy: string, before: State): Promise<State> => {
    await writeCopy(copy, project, stack, before);
    if (before.deployment.resources.length === 0) return before;
    await (await selected(at(copy))).refresh(reading);
    const after = withTriggersOf(before, await exported(at(copy)));
    await writeCopy(copy, project, stack, after);
    return after;
  };
  const names = async () => (await (await workspace()).listStacks()).map(({ name }) => name.split("/").at(-1) ?? name);
  return {
    exists: async () => (await names()).includes(stack),
    others: async () => (await names()).filter((name) => name !== stack),
    state: async () => (await exported()).deployment.resources,
    init: async (provider) => void (await Stack.create(stack, await workspace({}, provider))),
    look: (onOutput = () => {}) =>
      inCopy(async (copy) => {
        const before = await exported();
        const after = await read(copy, before);
        const steps: Step[] = [];
        // Nothing that a preview would save is of use.
        const { stdout } = await (await selected({ ...at(copy), PULUMI_SKIP_CHECKPOINTS: "true" })).preview({
          diff: true,
          suppressOutputs: true,
          onOutput,
          onEvent: ({ resourcePreEvent }) => {
            if (resourcePreEvent !== undefined) steps.push(resourcePreEvent.metadata);
          },
        });
        return { operations: operationsOf(steps), text: stdout, first: after === before, before, after };
      }),
    take: ({ before, after, first }) =>
      inCopy(async (copy) => {
        if (first) return;
        if (!isDeepStrictEqual(await exported(), before))
          throw new Error("the state has changed meanwhile: nothing was changed");
        const file = path.join(copy, "read.json");
        await writeFile(file, JSON.stringify(after));
        await ofStack(["import", "--file", file]);
      }),
    up: async (onEvent) => void (await (await selected()).up({ suppressOutputs: true, onEvent })),
    destroy: async (onEvent) => void (await (await selected()).destroy({ suppressOutputs: true, onEvent })),
    kubeconfig: async () => {
      const { kubeconfig } = await (await selected()).outputs();
      return typeof kubeconfig?.value === "string" ? kubeconfig.value : undefined;
    },
    comparison: [
      ...["refresh", "--stack", stack, "--run-program", ...reading.exclude.flatMap((urns) => ["--exclude", urns])],
      ...["--preview-only", "--expect-no-changes", "--diff"],
    ],
    call: async (words, onOutput) =>
      void (await command.run([...words], folder, { PULUMI_BACKEND_URL: backend }, onOutput)),
    remove: async () => await (await workspace()).removeStack(stack, { preserveConfig: true }),
  };
}
