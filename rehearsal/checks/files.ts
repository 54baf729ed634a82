import { basename } from "node:path";
import { type Check, CheckSkipped, expect } from "../../checks/check.ts";
import type { DecodedFile } from "../../plan/decode/userData.ts";
import type { DecodedMachine } from "../cluster/bringUp.ts";
import { hostPath } from "../host/command.ts";
import { checkConfigs } from "../programs/checkers/check.ts";
import type { Checkers } from "../programs/checkers/obtain.ts";
import { syntaxErrors } from "../programs/checkers/powershell.ts";
import {
  bashProblems,
  cloudConfigProblems,
  cloudInitProblems,
  kubeadmProblems,
  shellcheckProblems,
  unitProblems,
} from "../programs/checkers/readers.ts";
import { findOnPath } from "../programs/onPath.ts";
import { onePer, type Reader, readAll, type SharedFile, shared, sources } from "./sharedFiles.ts";

/** What the checks of files need. */
export interface FileSources {
  readonly machines: readonly DecodedMachine[];
  /** Programs that are built from upstream's code; the reason in words where they are not at hand. */
  readonly checkers: Checkers | string | Promise<Checkers | string>;
  /** Path of kubeadm. */
  readonly kubeadm: string;
  /** Kubernetes minor of the cluster: `1.36`. */
  readonly minor: string;
}

/**
 * Has each file of the decoded user data read by the program that it is for, or by what stands for that one on this host. One check per
 * kind of file; a kind that no machine of the stack has is not there.
 *
 * @returns those that run at once, and those whose readers may still be built
 */
export function fileChecks(of: FileSources): { readonly atOnce: readonly Check[]; readonly last: readonly Check[] } {
  const linux = of.machines.filter(({ payload }) => payload.system === "linux");
  const windows = of.machines.filter(({ payload }) => payload.system === "windows");
  return {
    atOnce: [...(linux.length > 0 ? linuxChecks(linux, of.kubeadm) : []), ...(windows.length > 0 ? [powershellCheck(windows)] : [])],
    last: [
      upstreamCheck("kubelet", `each KubeletConfiguration is one that kubelet ${of.minor} takes`, of, isKubelet),
      upstreamCheck("containerd", "containerd ignores no key of its configuration", of, isContainerd),
    ],
  };
}

const isShell = ({ path }: DecodedFile): boolean => path.endsWith(".sh");
const isPowershell = ({ path }: DecodedFile): boolean => path.endsWith(".ps1");
const isUnit = ({ path }: DecodedFile): boolean => path.startsWith("/etc/systemd/system/");
const isContainerd = ({ path }: DecodedFile): boolean => /[\\/]containerd[\\/]config\.toml$/.test(path);
const isKubelet = ({ path, content }: DecodedFile): boolean => path.endsWith(".yaml") && /^kind: KubeletConfiguration$/m.test(content);
const isKubeadm = ({ path, content }: DecodedFile): boolean => path.endsWith(".yaml") && /^kind: ClusterConfiguration$/m.test(content);

function linuxChecks(linux: readonly DecodedMachine[], kubeadm: string): readonly Check[] {
  const controlPlane = linux.filter(({ machine }) => machine.group === undefined);
  return [
    check(
      "cloud-init",
      "each Linux machine's user data is a cloud-config as cloud-init takes it",
      () => sources(linux),
      async ({ content }) => cloudConfigProblems(content),
    ),
    cloudInit(linux),
    systemd(linux),
    check(
      "bash",
      "each shell script is bash",
      () => shared(linux, isShell),
      ({ content }) => bashProblems(content),
    ),
    shellcheck(linux),
    check(
      "kubeadm",
      "each kubeadm configuration is valid to kubeadm, its placeholders filled",
      () => onePer(controlPlane, "kubeadm configuration", isKubeadm),
      ({ content }) => kubeadmProblems(kubeadm, content),
    ),
  ];
}

function powershellCheck(windows: readonly DecodedMachine[]): Check {
  return check(
    "powershell",
    "each PowerShell script, and the loader that unpacks them, parses",
    () => [...shared(windows, isPowershell), ...sources(windows)],
    ({ content }) => syntaxErrors(content),
  );
}

function check(kind: string, title: string, files: () => readonly SharedFile[], reader: Reader): Check {
  return {
    id: `files: ${kind}`,
    title,
    run: async ({ note }) => {
      const list = files();
      await readAll(list, reader);
      note(`${list.length} different files read`);
    },
  };
}

/** A host program by its name. @throws CheckSkipped where it is not installed */
async function installed(name: string, debianPackage = name): Promise<string> {
  const program = await findOnPath(name, hostPath());
  if (program === undefined) throw new CheckSkipped(`${name} is not installed: apt-get install ${debianPackage}`);
  return program;
}

function cloudInit(machines: readonly DecodedMachine[]): Check {
  return {
    id: "files: cloud-init schema",
    title: "cloud-init itself finds nothing wrong with each Linux machine's user data",
    run: async () => {
      const program = await installed("cloud-init");
      await readAll(sources(machines), ({ content }) => cloudInitProblems(program, content));
    },
  };
}

/** Units refer to each other, so those of a machine are read together. */
function systemd(machines: readonly DecodedMachine[]): Check {
  return {
    id: "files: systemd",
    title: "systemd knows every setting of the units, and what they refer to",
    run: async ({ note }) => {
      const program = await installed("systemd-analyze", "systemd");
      const unitsOf = ({ payload }: DecodedMachine) =>
        payload.files.filter(isUnit).map(({ path, content }) => ({ name: basename(path), text: content }));
      const different = Map.groupBy(machines, (machine) => JSON.stringify(unitsOf(machine)));
      const found: string[] = [];
      for (const [first] of different.values()) {
        if (first === undefined) continue;
        const problems = await unitProblems(program, unitsOf(first));
        found.push(...problems.map((problem) => `${first.machine.name}: ${problem}`));
      }
      expect(found.length === 0, found.join("\n"));
      note(`${different.size} different sets of units read`);
    },
  };
}

function shellcheck(machines: readonly DecodedMachine[]): Check {
  return {
    id: "files: shellcheck",
    title: "shellcheck finds nothing in the shell scripts",
    run: async ({ note }) => {
      const program = await installed("shellcheck");
      const files = shared(machines, isShell);
      const found = await shellcheckProblems(
        program,
        files.map(({ content }) => content),
      );
      await readAll(files, async (file) => found[files.indexOf(file)] ?? ["not read"]);
      note(`${files.length} different files read`);
    },
  };
}

/** A check by a program that is built from upstream's code: every machine must have one such file. */
function upstreamCheck(
  kind: "kubelet" | "containerd",
  title: string,
  { machines, checkers, minor }: FileSources,
  wanted: (file: DecodedFile) => boolean,
): Check {
  return {
    id: `files: ${kind}`,
    title,
    run: async ({ note }) => {
      const files = onePer(machines, `${kind} configuration`, wanted);
      const built = await checkers;
      if (typeof built === "string") throw new CheckSkipped(built);
      if (kind === "containerd" && built.containerd === undefined)
        throw new CheckSkipped("check-containerd is not built yet, which takes a minute: --full builds it, and make test-slow");
      const found = await checkConfigs(
        built,
        files.map(({ os, content }, index) => ({ id: String(index), kind, os, minor, text: content })),
      );
      await readAll(files, async (file) => found.get(String(files.indexOf(file))) ?? ["not read"]);
      note(`${files.length} different files read`);
    },
  };
}
