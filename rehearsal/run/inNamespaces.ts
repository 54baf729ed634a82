import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { paintFor } from "../../check/report.ts";
import { loadConfig } from "../../components/config/load.ts";
import { minorOf } from "../../components/model/releases.ts";
import { type Selection, summary } from "../checks/session.ts";
import type { Release } from "../cluster/cluster.ts";
import { createProgress, type Progress, RehearsalError } from "../host/command.ts";
import { idsProblem, instancesFor, lackOfIds } from "../host/hostCheck.ts";
import { type Inside, insideNamespaces, interrupted, runInsideNamespaces, thisCommand } from "../host/namespaces.ts";
import { overridesText } from "../machines/overrides.ts";
import { obtainContainerPrograms } from "../programs/build.ts";
import type { Wanted } from "../programs/catalog.ts";
import { obtainPrograms } from "../programs/obtain.ts";
import { withEveryAddOn } from "./everyAddOn.ts";
import type { KeptView, RehearsalOptions } from "./runRehearsal.ts";

const startVariable = "FENESTRA_REHEARSAL_STARTED";

export interface RehearsalSettings
  extends Selection,
    Pick<RehearsalOptions, "stack" | "config" | "logs" | "breakage" | "updateFrom" | "objects" | "verbose"> {
  /** Switch every add-on and all samples on. */
  readonly everyAddOn: boolean;
  /** Wait for Ctrl-C after the checks, with everything running. */
  readonly keep: boolean;
  /** Release that the cluster is updated to, in place of the acceptance checks. */
  readonly updateTo: Wanted | undefined;
}

/**
 * Rehearses a stack on this host. The caller's process obtains what the network has and starts its own command once
 * more in namespaces, where the rehearsal's machines and servers keep that process alive, so it must exit.
 *
 * @returns whether every check passed, `undefined` after Ctrl-C before the last
 * @throws ConfigError for a mistake in the stack file, RehearsalError when the host does not allow a rehearsal
 */
export async function rehearseInNamespaces(settings: RehearsalSettings): Promise<boolean | undefined> {
  const { config: written, everyAddOn } = settings;
  const started = process.env[startVariable];
  const progress = createProgress(process.stdout, started === undefined ? undefined : Number(started));
  loadConfig(written);
  const config = everyAddOn ? withEveryAddOn(written) : written;
  const { kubernetes } = loadConfig(config);
  const wanted = { minor: minorOf(kubernetes.version) };
  const inside = insideNamespaces();
  return inside === undefined
    ? await outside({ ...settings, config, wanted }, progress)
    : await withinNamespaces({ ...settings, config, wanted }, inside, progress);
}

interface Resolved extends RehearsalSettings {
  readonly wanted: Wanted;
}

/** A release as the inner process finds it in the cache. */
async function findRelease(wanted: Wanted, quiet: Progress): Promise<Release> {
  return { programs: await obtainPrograms({ progress: quiet, wanted }) };
}

/** Obtains what the network has, and starts this command once more in namespaces. */
async function outside(settings: Resolved, progress: Progress): Promise<boolean | undefined> {
  const { stack, everyAddOn, wanted, updateTo, logs } = settings;
  // The namespaces hide nothing that exists.
  if (logs !== undefined) await mkdir(logs, { recursive: true });
  progress.line(
    `rehearsal of ${stack}${everyAddOn ? " with every add-on" : ""}: cloud APIs, kernels, add-ons' containers, packets and Windows are simulated; the control plane, the kubelets and containerd are real`,
  );
  const lack = await lackOfIds();
  if (lack !== undefined) throw idsProblem(lack);
  const programs = await obtainPrograms({ progress, wanted });
  if (updateTo !== undefined) {
    // Without downloads, two patch releases of a minor are the one that was built.
    const next = await obtainPrograms({ progress, wanted: updateTo });
    const version = next["kube-apiserver"].version;
    if (version === programs["kube-apiserver"].version)
      throw new RehearsalError(
        `--update-to: the programs at hand for it are those of ${version}, which the stack runs; name another minor`,
      );
  }
  await obtainContainerPrograms(progress);
  progress.line(overridesText());
  const env = { [startVariable]: String(progress.startedAt) };
  const code = await runInsideNamespaces(thisCommand(), { env, instances: instancesFor(loadConfig(settings.config)) });
  return code === interrupted ? undefined : code === 0;
}

async function withinNamespaces(settings: Resolved, inside: Inside, progress: Progress): Promise<boolean> {
  const { keep, wanted, updateTo } = settings;
  const quiet: Progress = { startedAt: progress.startedAt, line: () => undefined };
  const release = await findRelease(wanted, quiet);
  const paint = paintFor(process.stdout);
  // The outer process does without the program's libraries.
  const { runRehearsal } = await import("./runRehearsal.ts");
  const reports = await runRehearsal({
    ...settings,
    ...release,
    updateTo: updateTo === undefined ? undefined : await findRelease(updateTo, quiet),
    containers: await obtainContainerPrograms(quiet),
    progress,
    workFolder: inside.workFolder,
    paint,
    onReady: keep ? (view) => untilInterrupted(progress, view, inside.enterCommand() ?? []) : undefined,
  });
  const { lines, passed } = summary(reports, paint);
  for (const line of lines) console.log(line);
  return passed;
}

/** Prints how to look around and waits for Ctrl-C. */
async function untilInterrupted(
  progress: Progress,
  { kubeconfigFile, kubectl, shells }: KeptView,
  enter: readonly string[],
): Promise<void> {
  const fenestra = [process.execPath, path.resolve(process.argv[1] ?? "")];
  progress.line(
    [
      "everything runs; press Ctrl-C to take it down. From another terminal, as the same user:",
      [...enter, kubectl, "--kubeconfig", kubeconfigFile, "get", "nodes"].join(" "),
      [...enter, ...fenestra, "status", "--kubeconfig", kubeconfigFile].join(" "),
      ...[...shells].map(([name, shell]) => `# a shell on ${name}\n${[...enter, ...shell].join(" ")}`),
    ].join("\n"),
  );
  await Promise.race(["SIGINT", "SIGTERM"].map((signal) => once(process, signal)));
}
