import { basename } from "node:path";
import { type Check, CheckSkipped, expect } from "../../check/check.ts";
import type { DecodedFile } from "../../plan/decode/userData.ts";
import type { DecodedMachine } from "../cluster/bringUp.ts";
import { findOnPath, hostPath } from "../host/command.ts";
import { type Checkers, checkConfigs } from "../programs/checkers/obtain.ts";
import { syntaxErrors } from "../programs/checkers/powershell.ts";
import {
  bashProblems,
  cloudConfigProblems,
  cloudInitProblems,
  kubeadmProblems,
  shellcheckProblems,
  unitProblems,
} from "../programs/checkers/readers.ts";

interface FileSources {
  readonly machines: readonly DecodedMachine[];
  /** Programs built from upstream's code; the reason in words where they are not at hand. */
  readonly checkers: Checkers | string | Promise<Checkers | string>;
  /** Path of kubeadm. */
  readonly kubeadm: string;
  /** Kubernetes minor of the cluster: `1.36`. */
  readonly minor: string;
}

/**
 * Has each file of the decoded user data read by the program it is for, or its stand-in on this host. One check per
 * kind of file that the stack has.
 *
 * @returns those that run at once, and those whose readers may still be built
 */
export function fileChecks(of: FileSources): { readonly atOnce: readonly Check[]; readonly last: readonly Check[] } {
  const linux = of.machines.filter(({ payload }) => payload.system === "linux");
  const windows = of.machines.filter(({ payload }) => payload.system === "windows");
  const powershell = check(
    "powershell",
    "each PowerShell script, and the loader that unpacks them, parses",
    () => [...shared(windows, isPowershell), ...sources(windows)],
    each(syntaxErrors),
  );
  return {
    atOnce: [...(linux.length > 0 ? linuxChecks(linux, of.kubeadm) : []), ...(windows.length > 0 ? [powershell] : [])],
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
const isKubelet = ({ path, content }: DecodedFile): boolean =>
  path.endsWith(".yaml") && /^kind: KubeletConfiguration$/m.test(content);
const isKubeadm = ({ path, content }: DecodedFile): boolean =>
  path.endsWith(".yaml") && /^kind: ClusterConfiguration$/m.test(content);

function linuxChecks(linux: readonly DecodedMachine[], kubeadm: string): readonly Check[] {
  const controlPlane = linux.filter(({ machine }) => machine.group === undefined);
  const userData = () => sources(linux);
  const scripts = () => shared(linux, isShell);
  const configurations = () => onePer(controlPlane, "kubeadm configuration", isKubeadm);
  return [
    check(
      "cloud-init",
      "each Linux machine's user data is a cloud-config as cloud-init takes it",
      userData,
      each(cloudConfigProblems),
    ),
    check(
      "cloud-init schema",
      "cloud-init itself finds nothing wrong with each Linux machine's user data",
      userData,
      async (files) => {
        const program = await installed("cloud-init");
        return await each((text) => cloudInitProblems(program, text))(files);
      },
    ),
    systemd(linux),
    check("bash", "each shell script is bash", scripts, each(bashProblems)),
    check("shellcheck", "shellcheck finds nothing in the shell scripts", scripts, async (files) => {
      const texts = files.map(({ content }) => content);
      return await shellcheckProblems(await installed("shellcheck"), texts);
    }),
    check(
      "kubeadm",
      "each kubeadm configuration is valid to kubeadm, its placeholders filled",
      configurations,
      each((text) => kubeadmProblems(kubeadm, text)),
    ),
  ];
}

/** Reads files and returns each one's problems, in their order. */
type Reader = (files: readonly SharedFile[]) => Promise<readonly (readonly string[])[]>;

/** Reads one file after the other. */
function each(read: (text: string) => Promise<readonly string[]> | readonly string[]): Reader {
  return async (files) => {
    const problems: (readonly string[])[] = [];
    for (const { content } of files) problems.push(await read(content));
    return problems;
  };
}

/** A check that fails with machine, path and problem. */
function check(kind: string, title: string, files: () => readonly SharedFile[], reader: Reader): Check {
  return {
    id: `files: ${kind}`,
    title,
    run: async ({ note }) => {
      const list = files();
      expect(list.length > 0, "no machine has such a file");
      const problems = await reader(list);
      const found = list.flatMap(({ machines, path }, index) =>
        (problems[index] ?? ["not read"]).map((problem) => `${machines.join(", ")}: ${path}: ${problem}`),
      );
      expect(found.length === 0, found.join("\n"));
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

/** A check by a program built from upstream's code: every machine must have one such file. */
function upstreamCheck(
  kind: "kubelet" | "containerd",
  title: string,
  { machines, checkers, minor }: FileSources,
  wanted: (file: DecodedFile) => boolean,
): Check {
  const files = () => onePer(machines, `${kind} configuration`, wanted);
  return check(kind, title, files, async (list) => {
    const built = await checkers;
    if (typeof built === "string") throw new CheckSkipped(built);
    if (kind === "containerd" && built.containerd === undefined)
      throw new CheckSkipped(
        "check-containerd is not built yet, which takes a minute: --full builds it, and make test-slow",
      );
    const requests = list.map(({ os, content }, index) => ({ id: String(index), kind, os, minor, text: content }));
    const found = await checkConfigs(built, requests);
    return requests.map(({ id }) => found.get(id) ?? ["not read"]);
  });
}

/** A file with every machine that received this text under this path. */
interface SharedFile {
  readonly machines: readonly string[];
  readonly os: "linux" | "windows";
  readonly path: string;
  readonly content: string;
}

/** Files that fulfil a condition, each text once. */
function shared(machines: readonly DecodedMachine[], wanted: (file: DecodedFile) => boolean): readonly SharedFile[] {
  return grouped(machines, ({ payload }) => payload.files.filter(wanted));
}

/** The one file of its kind that every machine must have. @throws CheckFailure when one has none or several */
function onePer(
  machines: readonly DecodedMachine[],
  kind: string,
  wanted: (file: DecodedFile) => boolean,
): readonly SharedFile[] {
  for (const { machine, payload } of machines) {
    const paths = payload.files.filter(wanted).map(({ path }) => path);
    expect(paths.length === 1, `${machine.name}: found ${paths.join(", ") || "no"} ${kind}, wanted one`);
  }
  return shared(machines, wanted);
}

/** What the cloud's own agent reads: the cloud-config, or the loader of a Windows machine. */
function sources(machines: readonly DecodedMachine[]): readonly SharedFile[] {
  return grouped(machines, ({ payload }) => {
    // EC2Launch takes the script out of its tags; Azure's custom data is the script itself.
    const content = /^<powershell>\n([\s\S]*?)^<\/powershell>/m.exec(payload.source)?.[1] ?? payload.source;
    return [{ path: "user data", content, mode: undefined }];
  });
}

function grouped(
  machines: readonly DecodedMachine[],
  filesOf: (machine: DecodedMachine) => readonly DecodedFile[],
): readonly SharedFile[] {
  const all = machines.flatMap((machine) =>
    filesOf(machine).map(({ path, content }) => ({
      name: machine.machine.name,
      os: machine.payload.system,
      path,
      content,
    })),
  );
  const groups = Map.groupBy(all, ({ os, path, content }) => JSON.stringify([os, path, content]));
  return [...groups.values()].flatMap(([first, ...rest]) =>
    first === undefined ? [] : [{ ...first, machines: [first, ...rest].map(({ name }) => name) }],
  );
}
