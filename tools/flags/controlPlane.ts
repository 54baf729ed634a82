/**
 * Writes `components/model/programFlags.json`: the flags and feature gates that the control plane's programs take, by Kubernetes minor. They are
 * asked by `--help`, which leaves out what upstream hides, and lists the feature gates that may be set.
 *
 * Usage: cli/node tools/flags/controlPlane.ts VERSION=FOLDER...
 * Each folder has kube-apiserver, kube-controller-manager, kube-scheduler and etcd of one minor, as the rehearsal's cache has; the version is that of
 * Kubernetes. Other minors are kept.
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { controlPlanePrograms, flagKinds, programFlagsFile } from "../../components/model/programFlags.ts";
import { minorOf } from "../../components/model/releases.ts";
import { etcdFlags, helpFlags, helpGates } from "./help.ts";

const run = promisify(execFile);

async function ask(folder: string, program: string, argument: string): Promise<string> {
  const { stdout, stderr } = await run(path.join(folder, program), [argument], { maxBuffer: 2 ** 24 });
  return stdout + stderr;
}

async function recordsOf(argument: string) {
  const [kubernetes = "", folder = ""] = argument.split("=");
  return Promise.all(
    Object.values(controlPlanePrograms).map(async (program) => {
      const help = await ask(folder, program, "--help");
      const flags = [...new Map(program === "etcd" ? etcdFlags(help) : helpFlags(help, "pflag"))].sort();
      const ofKind = (kind: string) => flags.flatMap(([name, of]) => (of === kind ? [name] : [])).join(" ");
      return {
        minor: minorOf(kubernetes),
        program,
        version:
          program === "etcd" ? (/Version: (\S+)/.exec(await ask(folder, program, "--version"))?.[1] ?? "") : kubernetes,
        gates: helpGates(help).join(" "),
        flags: Object.fromEntries(Object.keys(flagKinds).map((kind) => [kind, ofKind(kind)])),
      };
    }),
  );
}

const before: readonly { minor: string }[] = existsSync(programFlagsFile)
  ? JSON.parse(readFileSync(programFlagsFile, "utf8"))
  : [];
const made = (await Promise.all(process.argv.slice(2).map(recordsOf))).flat();
const kept = before.filter(({ minor }) => !made.some((each) => each.minor === minor));
const all = [...kept, ...made].sort((a, b) => (a.minor < b.minor ? -1 : 1));
writeFileSync(programFlagsFile, `${JSON.stringify(all, null, 2)}\n`);
