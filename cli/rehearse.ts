import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { loadConfig } from "../components/config/load.ts";
import { messageOf } from "../components/model/messages.ts";
import { ConfigError } from "../components/model/problem.ts";
import { defaultRelease, minorOf } from "../components/model/releases.ts";
import { type OwnObject, objectsIn, readObjects } from "../rehearsal/api/ownObjects.ts";
import { insideNamespaces } from "../rehearsal/host/namespaces.ts";
import type { Wanted } from "../rehearsal/programs/catalog.ts";
import { type RehearsalSettings, rehearseInNamespaces } from "../rehearsal/run/inNamespaces.ts";
import { breakages, breakagesText, together } from "../rehearsal/run/negativeControls.ts";
import { commandOf, exitCodes, several, type Terminal, UsageError } from "./exit.ts";
import { npmCi, openCheckout } from "./gitBase.ts";
import { readStack, stackChoices, stackCommand } from "./project.ts";

const declaration = stackCommand()
  .description(
    "Runs the real program with simulated clouds and brings its cluster up on a real control plane in namespaces of this machine: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, the kubelets and the scripts of Linux machines. Cloud APIs, kernels, the containers of add-ons, packets and Windows are simulated.",
  )
  .option("--every-add-on", "switch every add-on and all samples on, with a node in every pool")
  .option("--keep", "leave everything running until Ctrl-C, and print how to use kubectl")
  .option("--full", "run the slow checks too: those that wait for time to pass")
  .option("--verbose", "give each check a line, with what it saw")
  .option("--logs <DIR>", "copy the logs of the machines and their containers to this folder at the end")
  .option("--only <CHECKS>", "run only the checks whose id begins with this text")
  .option("--skip <CHECKS>", "leave out those whose id begins with this text; may be given more than once", several)
  .option(
    "--update-to <RELEASE>",
    "update a control plane of three and its pools to this release in place of the other checks: a minor, or an older patch for the way back",
  )
  .option(
    "--update-from <REF>",
    "bring it up with the program of this commit, branch or tag, and update it with this one, machine by machine",
  )
  .option(
    "--objects <PATH>",
    "apply the manifests of this folder, file or standard input (-), and say of each object whether it is refused, what policies change, and where its pods are placed or why not; with an update also after it",
  )
  .option(
    "--break <NAME>",
    "break one thing on purpose and see the named check fail; may be given more than once; list: print the names",
    several,
  );

/** For the process inside. */
const olderVariable = "FENESTRA_OLDER_PROGRAM";

/** Names the file with the user's objects to that process: standard input is read once. */
const objectsVariable = "FENESTRA_OWN_OBJECTS";

export const command = commandOf(
  declaration,
  async (values, terminal) => {
    if (values.break?.includes("list")) {
      terminal.out(`${breakagesText()}\n`);
      return exitCodes.fine;
    }
    const { from, ...settings } = settingsOf(values, terminal);
    // Checked out by the outer process.
    const given = process.env[olderVariable];
    const older =
      from === undefined || given !== undefined
        ? undefined
        : await openCheckout(from, { option: "--update-from", install: npmCi });
    if (older !== undefined) process.env[olderVariable] = older.program;
    const updateFrom = from === undefined ? undefined : (given ?? older?.program);
    try {
      const passed = await rehearseInNamespaces({ ...settings, updateFrom });
      const code = passed === undefined ? exitCodes.interrupted : passed ? exitCodes.fine : exitCodes.findings;
      // Machines and servers would keep the inner process alive; the kernel ends them with it.
      return insideNamespaces() === undefined ? code : process.exit(code);
    } catch (error) {
      // Anything but a mistake in the stack file ends with counts.
      if (error instanceof ConfigError) throw error;
      console.log(`The rehearsal broke off: ${messageOf(error)}`);
      console.log("0 passed, 1 failed");
      older?.close();
      return process.exit(exitCodes.findings);
    } finally {
      older?.close();
    }
  },
  {
    codes: { 1: "a check failed, or the rehearsal broke off" },
    complete: { stack: stackChoices, break: () => Object.keys(breakages) },
  },
);

function settingsOf(
  values: ReturnType<typeof declaration.opts>,
  terminal: Terminal,
): Omit<RehearsalSettings, "updateFrom"> & { readonly from: string | undefined } {
  const { keep = false, full = false, verbose = false, logs, only = "", skip = [], break: names = [] } = values;
  const stack = readStack("rehearse", values, terminal);
  const broken = names.map((name) => {
    const breakage = breakages[name];
    if (breakage === undefined)
      throw new UsageError(`--break ${name}: there is no such breakage; allowed: ${Object.keys(breakages).join(", ")}`);
    return breakage;
  });
  if (values.updateFrom !== undefined) {
    if (values.updateTo !== undefined)
      throw new UsageError("--update-from and --update-to are two updates; allowed: one of them");
    requireThree("--update-from", stack.config);
  }
  return {
    ...stack,
    from: values.updateFrom,
    objects: objectsOf(values.objects),
    everyAddOn: values.everyAddOn ?? false,
    keep,
    full,
    verbose,
    logs,
    only,
    skip,
    breakage: broken.length === 0 ? undefined : together(broken),
    updateTo: wantedOf(values.updateTo, stack.config),
  };
}

function objectsOf(from: string | undefined): readonly OwnObject[] {
  const read = process.env[objectsVariable];
  if (from === undefined) return [];
  if (read !== undefined) return objectsIn(read, readFileSync(read, "utf8"));
  try {
    const objects = readObjects(from);
    const file = path.join(mkdtempSync(path.join(tmpdir(), "fenestra-objects-")), "objects.json");
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }), { mode: 0o600 });
    process.env[objectsVariable] = file;
    return objects;
  } catch (error) {
    throw new UsageError(`--objects ${from}: ${messageOf(error)}`);
  }
}

function wantedOf(text: string | undefined, config: Readonly<Record<string, string>>): Wanted | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+\.\d+(\.\d+)?$/.test(text))
    throw new UsageError(
      `--update-to ${text}: allowed is a minor or a release, such as ${minorOf(defaultRelease)} or ${defaultRelease}`,
    );
  requireThree("--update-to", config);
  return { minor: minorOf(text), release: minorOf(text) === text ? undefined : text };
}

/** For a rehearsed update. */
function requireThree(option: string, config: Readonly<Record<string, string>>): void {
  const { controlPlane, mirror } = loadConfig(config);
  if (controlPlane.replicas !== 3 || mirror.artifacts !== undefined)
    throw new UsageError(`${option} needs a stack with controlPlane.replicas: 3 and without mirror.artifacts`);
}
