import assert from "node:assert/strict";
import type { CheckResult } from "../../checks/check.ts";
import { runChecks } from "../../checks/run.ts";
import { defaultRelease, minorOf } from "../../components/model/releases.ts";
import { type DecodedFile, decodeUserData } from "../../plan/decode/userData.ts";
import { collectMachines } from "../../plan/fakes/collect.ts";
import { fileChecks } from "../../rehearsal/checks/files.ts";
import type { DecodedMachine } from "../../rehearsal/cluster/bringUp.ts";
import type { Checkers } from "../../rehearsal/programs/checkers/obtain.ts";
import { obtainPrograms } from "../../rehearsal/programs/obtain.ts";
import { breakages } from "../../rehearsal/run/negativeControls.ts";
import { checkersOrSkip } from "../support/checkers.ts";
import { obtainOrSkip, skipIf } from "../support/skip.ts";
import { azureCluster } from "./azureCluster.ts";

let kubeadm = "";
/** A machine of the control plane, two Linux workers and one of Windows, with short names. */
let machines: readonly DecodedMachine[] = [];

/** The machines with changed files, at least on one. */
function withFiles(change: (file: DecodedFile, system: "linux" | "windows") => string): readonly DecodedMachine[] {
  const changed = machines.map(({ machine, payload }) => ({
    machine,
    payload: { ...payload, files: payload.files.map((file) => ({ ...file, content: change(file, payload.system) })) },
  }));
  assert.notDeepEqual(changed, machines);
  return changed;
}

const edited = (path: string, from: string | RegExp, to: string): readonly DecodedMachine[] =>
  withFiles((file) => (file.path === path ? file.content.replace(from, to) : file.content));

async function reports(
  kind: string,
  of: readonly DecodedMachine[],
  checkers: Checkers | string = "no checkers",
): Promise<readonly CheckResult[]> {
  const { atOnce, last } = fileChecks({ machines: of, checkers, kubeadm, minor: minorOf(defaultRelease) });
  return await runChecks(
    [...atOnce, ...last].filter(({ id }) => id === `files: ${kind}`),
    {},
    { limitMs: 120_000, onResult: () => undefined },
  );
}

async function failure(kind: string, of: readonly DecodedMachine[], checkers?: Checkers): Promise<string | undefined> {
  const [report, ...more] = await reports(kind, of, checkers);
  assert.ok(report !== undefined && more.length === 0, `there must be one check of ${kind}`);
  assert.notEqual(report.outcome, "skipped");
  return report.reason;
}

describe("the rehearsal's checks of files", () => {
  before(() => {
    machines = collectMachines(azureCluster())
      .map((machine) => ({ ...machine, name: machine.name.replace(/azure-dev-(pool-)?|-group|-instance/g, "") }))
      .filter(({ name }) => /^(control-plane-0|linux\[.\]|win2022\[0\])$/.test(name))
      .map((machine) => ({ machine, payload: decodeUserData(machine.userData) }));
  });

  const withSource = (change: (source: string) => string): readonly DecodedMachine[] =>
    machines.map(({ machine, payload }) => ({ machine, payload: { ...payload, source: change(payload.source) } }));

  describe("programs of the host", () => {
    const drain = "/opt/fenestra/drain.sh";
    for (const [kind, broken, problem] of [
      [
        "shellcheck",
        () => withFiles(({ path, content }) => (path === drain ? `${content}\nrm -rf $1\n` : content)),
        /^linux\[0\], linux\[1\]: \/opt\/fenestra\/drain\.sh: line \d+: Double quote to prevent globbing and word splitting\. \(SC2086\)$/,
      ],
      [
        "cloud-init schema",
        () => withSource((text) => text.replace("permissions:", "permission:")),
        /^control-plane-0: user data: .*'permission' was unexpected/s,
      ],
      [
        "systemd",
        () => edited("/etc/systemd/system/kubelet.service", "RestartSec=10", "RestartSeconds=10"),
        /^control-plane-0: kubelet\.service:\d+: Unknown key (name )?'RestartSeconds' in section .*\n *linux\[0\]: /,
      ],
      [
        "systemd",
        () => edited("/etc/systemd/system/fenestra-join-secret.timer", /OnActiveSec=\d+/, "OnActiveSec=soon"),
        /^control-plane-0: fenestra-join-secret\.timer:\d+: Failed to parse timer value.*: soon$/,
      ],
    ] as const)
      it(`${kind} finds nothing, and finds a mistake`, async function () {
        this.timeout(120_000);
        const [report] = await reports(kind, machines);
        if (report?.outcome === "skipped") skipIf(this, report.reason);
        assert.deepEqual([report?.outcome, report?.reason], ["passed", undefined]);
        assert.match((await failure(kind, broken())) ?? "", problem);
      });
  });

  describe("kubeadm", () => {
    const path = "/etc/fenestra/kubeadm.yaml";
    before(async function () {
      kubeadm = (await obtainOrSkip(this, (progress) => obtainPrograms({ progress }))).kubeadm.path;
    });
    it("sees an unknown field", async () => {
      assert.match(
        (await failure("kubeadm", edited(path, "clusterName:", "clusterNam:"))) ?? "",
        /^control-plane-0: \/etc\/fenestra\/kubeadm\.yaml: .*unknown field "clusterNam"/,
      );
    });
  });

  describe("upstream's readers", () => {
    let checkers: Checkers;
    before(async function () {
      checkers = await checkersOrSkip(this, [minorOf(defaultRelease)]);
    });

    for (const [name, kind, problem] of [
      ["kubelet-unknown-field", "kubelet", 'unknown field "maximumPods"'],
      ["containerd-unknown-key", "containerd", "plugin io.containerd.cri.v1.images: unknown key registry.confg_path"],
    ] as const)
      it(`fail when a rehearsal breaks ${name}`, async () => {
        const breakage = breakages[name]?.payload;
        assert.ok(breakage !== undefined);
        const broken = machines.map((one) => ({ ...one, payload: breakage(one) }));
        const lines = (await failure(kind, broken, checkers))?.split("\n").map((line) => line.trim()) ?? [];
        const path = { linux: "/etc/fenestra/kubelet.yaml", windows: "C:\\etc\\kubernetes\\kubelet-config.yaml" };
        const toml = { linux: "/etc/containerd/config.toml", windows: "C:\\fenestra\\containerd\\config.toml" };
        const { linux, windows } = kind === "kubelet" ? path : toml;
        // containerd's file is the same on all Linux machines, the kubelet's differs between workers and control plane.
        const onLinux =
          kind === "kubelet" ? ["control-plane-0", "linux[0], linux[1]"] : ["control-plane-0, linux[0], linux[1]"];
        assert.deepEqual(lines, [
          ...onLinux.map((names) => `${names}: ${linux}: ${problem}`),
          `win2022[0]: ${windows}: ${problem}`,
        ]);
      });
  });
});
