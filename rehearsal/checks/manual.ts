import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, expectEqual } from "../../check/check.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { bridgeOf, type ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import { hostPath, limitsMs, runCommand } from "../host/command.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";

const root = new URL("../../", import.meta.url);

/**
 * Where a block is run whose fence is marked so behind its language, which no reader sees; unmarked, beside kubectl.
 */
export const places = ["control-plane", "worker"];
/** Why a block marked so is not run here. */
export const elsewhere: Readonly<Record<string, string>> = {
  account: "it asks a cloud, Pulumi's engine or a publisher",
  example: "what it names is the reader's own",
  local: "it needs no cluster: tests of the documentation run it or hold its words against the program",
  restore: "the check `restore: snapshot` runs it with names of its own",
  windows: "it is a shell on a Windows node, whose containers do not run here",
};
/** Has a check of its own. */
const walked = "A node is compromised";

/** A block of shell commands of the manual. */
export interface Step {
  readonly at: string;
  readonly section: string;
  readonly mark: string;
  readonly text: string;
}

/** Every block of shell commands of the README and the pages of docs, in order. */
export function manual(): readonly Step[] {
  const files = globSync(["README.md", "docs/*.md", "docs/operations/*.md"], { cwd: root }).sort();
  return files.flatMap((file) => {
    let section = "";
    const parts = readFileSync(new URL(file, root), "utf8").matchAll(
      /^#+ (.+)$|^( *)```sh ?(.*)\n((?:.*\n)*?)^\2```$/gm,
    );
    return [...parts].flatMap(([, heading, , mark = "", text]) => {
      section = heading ?? section;
      return text === undefined ? [] : [{ at: `${file}, ${section}`, section, mark, text }];
    });
  });
}

/** The steps of that section that are run. */
export function walk(): readonly Step[] {
  return manual().filter((step) => step.section === walked && !(step.mark in elsewhere));
}

/** Runs a step, on each control-plane machine if marked so, with `names` in place of what is the reader's own. */
export type Follow = (
  step: Step | undefined,
  context: CheckContext,
  names?: Readonly<Record<string, string>>,
) => Promise<string>;

/** @param kubectl path of the program */
export function followWith(cluster: Cluster, lab: ControlPlaneLab, kubectl: string): Follow {
  return async (step, { linuxWorkers: [worker = ""] }, names = {}) => {
    if (step === undefined) throw new Error("the manual lacks a step");
    const { at, mark, text } = step;
    const script = Object.entries(names).reduce((all, [name, value]) => all.replaceAll(name, value), text);
    const argv = ["bash", "-e", "-c", script];
    const timeoutMs = limitsMs.machine;
    const env = {
      ...process.env,
      PATH: `${path.dirname(kubectl)}:${hostPath()}`,
      KUBECONFIG: cluster.kubeconfigFile,
      ROOT: fileURLToPath(root),
      // What a block writes goes with the cluster.
      WORK: path.dirname(cluster.kubeconfigFile),
    };
    const machines =
      mark === "worker" ? [cluster.machines.get(worker)] : lab.indices.map((index) => lab.machine(index));
    const runs =
      mark === ""
        ? [() => runCommand(["bash", "-e", "-c", `cd "$WORK"\nln -sfn "$ROOT/cli" cli\n${script}`], { env, timeoutMs })]
        : machines.map((machine) => () => machine?.run(argv, { timeoutMs }));
    let said = "";
    for (const run of runs) {
      const result = await run();
      expectEqual(result?.code, 0, `exit code of the commands in ${at} (${script}${result?.stderr.trim()})`);
      said += result?.stdout ?? "";
    }
    return said;
  };
}

export function manualCheck(cluster: Cluster, follow: Follow): RehearsalCheck {
  return {
    id: "manual",
    slow: true,
    limitMs: limitsMs.steps,
    title: "the commands of the manual work as they are written",
    run: async (context) => {
      const { api, cloud, linuxWorkers, note } = context;
      const machine = cloud.machines.find(({ id }) => id === linuxWorkers[0]);
      const [request] = (await api.certificates.listCertificateSigningRequest()).items;
      expect(machine !== undefined, "there is no Linux worker");
      const names = {
        "--kubeconfig kubeconfig": '--kubeconfig "$KUBECONFIG"',
        // Images are no files here.
        "/var/lib/containerd ": "",
        NODE: cloud.identity(machine).nodeName,
        NAME: "encryption-check",
        REQUEST: request?.metadata?.name ?? "",
      };
      const steps = manual().filter(({ section, mark }) => !(mark in elsewhere) && section !== walked);
      // What machines do first is looked at by the others.
      for (const place of [...places, ""])
        for (const step of steps.filter(({ mark }) => mark === place)) {
          const isGone = place === "worker" && step.section === "A Node object was deleted";
          if (isGone) await api.core.deleteNode({ name: names.NODE });
          await follow(step, context, names);
          if (isGone) note(`its bridge is ${await bridgeOf(cluster.machines.get(machine.id), api, names.NODE)}`);
        }
      note(`${steps.length} blocks`);
    },
  };
}
