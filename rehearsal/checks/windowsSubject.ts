import { z } from "zod";
import { CheckSkipped, expect } from "../../checks/check.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { limitsMs } from "../host/limits.ts";
import type { WindowsMachine } from "../machines/windowsMachine.ts";
import type { WindowsPrograms } from "../programs/windowsPrograms.ts";
import type { Wine } from "../programs/wine.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";

/** The parts of `machine.json` by which the machine's scripts call programs. */
const settingsSchema = z.looseObject({
  paths: z.looseObject({
    state: z.string(),
    cniBin: z.string(),
    kubeconfig: z.string(),
    clusterCa: z.string(),
    serviceAccountToken: z.string(),
  }),
  programs: z.looseObject({ kubectl: z.string(), hostLocal: z.string() }),
  kubeProxy: z.looseObject({ program: z.string(), kubeconfig: z.string(), arguments: z.array(z.string()) }),
  network: z.looseObject({}),
  drain: z.looseObject({ columns: z.string() }),
});

/** A machine whose kubelet.exe has registered its node, with what its scripts would read. */
export interface Subject {
  readonly machine: WindowsMachine;
  readonly settings: z.output<typeof settingsSchema>;
  readonly programs: WindowsPrograms;
  /** Its part of the pod network. */
  readonly subnet: string;
}

const machineFile = "C:\\fenestra\\machine.json";

interface ProgramCheck {
  readonly name: string;
  readonly title: string;
  readonly run: (subject: Subject, context: CheckContext) => Promise<void>;
}

/** A check that runs a program on a Windows machine under Wine; skipped where the host has none. */
export function onMachine(
  later: Promise<Wine | string>,
  cluster: Cluster,
  { name, title, run }: ProgramCheck,
): RehearsalCheck {
  return {
    id: `windows: ${name}`,
    title,
    limitMs: limitsMs.steps,
    run: async (context) => {
      const wine = await later;
      if (typeof wine === "string") throw new CheckSkipped(wine);
      await run(await subjectOf(wine, cluster, context), context);
    },
  };
}

async function subjectOf(wine: Wine, { windowsMachines }: Cluster, { api }: CheckContext): Promise<Subject> {
  const [machine] = windowsMachines;
  expect(machine !== undefined, "no machine has registered its node under Wine");
  const { files, fill } = machine.joined;
  const text = files.find(({ path }) => path === machineFile)?.content ?? "";
  const { spec } = await api.core.readNode({ name: machine.name });
  return {
    machine,
    settings: settingsSchema.parse(JSON.parse(fill(text))),
    programs: wine.programs,
    subnet: spec?.podCIDR ?? "",
  };
}

/** Path of a file of `C:\`, from the drive's root. */
export function driveFile(path: string): string {
  return path.replace(/^C:[\\/]/i, "").replaceAll("\\", "/");
}

/** Output of a bash script on the machine's drive. */
export async function onDrive(machine: WindowsMachine, script: string, stdin?: string): Promise<string> {
  const options = stdin === undefined ? {} : { stdin };
  const { code, stdout, stderr } = await machine.runOnDrive(["bash", "-c", script], options);
  expect(code === 0, `${script}: ${oneLine(stderr)}`);
  return stdout;
}

export async function writeDrive(machine: WindowsMachine, path: string, text: string): Promise<void> {
  const file = driveFile(path);
  await onDrive(machine, `mkdir -p '${file.replace(/\/[^/]*$/, "")}' && cat > '${file}'`, text);
}

export function oneLine(text: string): string {
  return text
    .trim()
    .split(/\s*\n\s*/)
    .join(" ");
}
