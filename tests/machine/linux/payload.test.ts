import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { scriptsObject } from "../../../components/machine/bundle.ts";
import { controlPlaneScripts } from "../../../components/machine/linux/controlPlane.ts";
import { controlPlaneStages, linuxWorkerStages, stageTable } from "../../../components/machine/linux/stages.ts";
import type { MachinePayload } from "../../../components/machine/payload.ts";
import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import { podNetworks } from "../../../components/podNetworks/podNetworks.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleControlPlane, exampleLinuxWorker } from "../examples.ts";

const kinds: readonly (readonly [kind: string, of: (spec: ClusterSpec) => MachinePayload])[] = [
  ["control-plane", exampleControlPlane],
  ["linux", exampleLinuxWorker],
];

describe("payloads of Linux machines", () => {
  it("give the neighbour table room for the address plan", () => {
    const limits = (network: "flannel" | "azure-cni", podCidr: string): readonly number[] => {
      const spec = exampleSpec("azure-prod");
      const kubernetes = { ...spec.kubernetes, podCidr, podNetwork: podNetworks[network] };
      const { content = "" } =
        exampleLinuxWorker({ ...spec, kubernetes }).files.find(({ path: file }) => file.includes("sysctl.d")) ?? {};
      return [...content.matchAll(/gc_thresh(\d) = (\d+)/g)].map(([, , limit]) => Number(limit));
    };
    assert.deepEqual(limits("flannel", "10.244.0.0/16"), [4096, 8192, 16_384]);
    assert.deepEqual(limits("flannel", "10.0.0.0/9"), [16_512, 33_024, 66_048]);
    assert.deepEqual(limits("azure-cni", "10.30.0.0/16"), [32_768, 65_536, 131_072]);
  });

  it("let the kubelet delay a shutdown for its pods", () => {
    for (const [kind, of] of kinds) {
      const { files } = of(exampleSpec("aws-prod"));
      const content = (file: string) => files.find(({ path }) => path === file)?.content ?? "";
      const grace = /^shutdownGracePeriod: (\d+)s$/m.exec(content("/etc/fenestra/kubelet.yaml"))?.[1];
      assert.equal(
        content("/etc/systemd/logind.conf.d/unattended-upgrades-logind-maxdelay.conf"),
        `[Login]\nInhibitDelayMaxSec=${grace}\n`,
        kind,
      );
    }
  });
});

describe("stages of Linux machines", () => {
  it("are repeated from the first one whose file has changed", () => {
    const { files } = exampleControlPlane(exampleSpec("aws-prod"));
    const hashes = (of: typeof files): readonly (string | undefined)[] =>
      stageTable(controlPlaneStages, of)
        .trimEnd()
        .split("\n")
        .slice(0, -1)
        .map((line) => line.split("\t")[2]);
    const original = hashes(files);
    for (const [index, stage] of controlPlaneStages.entries()) {
      const script = `/opt/fenestra/stages/${stage.name}.sh`;
      assert.deepEqual(
        hashes(files.map((file) => (file.path === script ? { ...file, content: `${file.content}\n` } : file))).map(
          (hash, at) => hash === original[at],
        ),
        controlPlaneStages.map((_, at) => at < index),
        stage.name,
      );
    }
  });
});

describe("scripts of Linux machines", () => {
  const folder = path.join(import.meta.dirname, "../../../components/machine/linux/scripts");
  const scripts = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".sh"));

  it("begin a worker's duties first, and stop nothing of a Ready node", () => {
    const of = (stages: readonly { readonly name: string }[], first: string) => {
      const names = stages.map(({ name }) => name);
      return names.slice(names.indexOf(first) + 1);
    };
    assert.deepEqual(of(linuxWorkerStages, "identity")[0], "timers");
    assert.deepEqual(
      [...of(linuxWorkerStages, "kubelet"), ...of(controlPlaneStages, "ready")].filter((name) =>
        /systemctl (?!enable|restart kubelet)|crictl stop/.test(
          readFileSync(path.join(folder, "stages", `${name}.sh`), "utf8"),
        ),
      ),
      [],
    );
  });

  it("ask the API with a limit, execute no values, and put no half of a text", () => {
    // Two that the node controller takes the place of have a function of their own over `kube`.
    for (const name of scripts) {
      const text = readFileSync(path.join(folder, name), "utf8").replace(/^\s*#.*$/gm, "");
      if (name !== "lib.sh") assert.doesNotMatch(text, /(?<![-\w/.`])kubectl (?:--?|get|apply|delete)/, name);
      assert.doesNotMatch(text, /^\s*(?:\.|source) \S+\.env/m, name);
      assert.doesNotMatch(text, /\bsed [^\n]*\| put|^\} \| put[^\n]*(?:fstab|hosts)/m, name);
      assert.doesNotMatch(text, /iptables --wait (?!30)/, name);
    }
  });

  it("run in units with a limit", () => {
    const units = exampleControlPlane(exampleSpec("azure-prod")).files.filter(({ content }) =>
      content.includes("Type=oneshot"),
    );
    assert.ok(units.length >= 5);
    const unlimited = units.filter(({ content }) => !/^TimeoutStartSec=/m.test(content)).map(({ path: file }) => file);
    assert.deepEqual(unlimited, []);
  });
});

describe("a packed Linux payload on AWS", () => {
  it("has one object for all control-plane machines", () => {
    for (const keys of [["key1"], ["key2", "key1"]])
      for (const stack of ["aws-dev", "aws-prod"] as const) {
        const spec = { ...exampleSpec(stack), secretsEncryption: { keys } };
        const known = scriptsObject(controlPlaneScripts(spec));
        for (const { index } of spec.controlPlane.members)
          assert.deepEqual(scriptsObject(exampleControlPlane(spec, index)), known, `${stack} ${index} ${keys}`);
      }
  });
});
