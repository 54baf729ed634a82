import assert from "node:assert/strict";
import { parse } from "yaml";
import { checked, refusedSettings } from "../../components/machine/kubeletFlags.ts";
import { minorOf, minors } from "../../components/model/releases.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { awsObjects } from "../../plan/fakes/awsAccess.ts";
import { collectMachines } from "../../plan/fakes/collect.ts";
import { ofType, runStack, specOf } from "../support/mocks.ts";
import { exampleControlPlane, exampleLinuxWorker, exampleReleases, fileOf, onePerSystem, specAt } from "./examples.ts";

describe("the kubelet's flags", () => {
  it("hold none that any minor to be chosen has removed; nor does kube-proxy's command line", () => {
    for (const release of exampleReleases) {
      const minor = release.split(".").slice(0, 2).join(".");
      for (const { payload } of [...onePerSystem("aws", release), ...onePerSystem("azure", release)]) {
        const { kubelet, kubeProxy } = JSON.parse(fileOf(payload, "C:\\fenestra\\machine.json"));
        assert.deepEqual(refusedSettings("kubelet", minor, kubelet.arguments), []);
        assert.deepEqual(refusedSettings("kube-proxy", minor, kubeProxy.arguments), []);
      }
    }
  });

  it("that were removed are refused from that minor on, and not before", () => {
    const flag = ["--pod-infra-container-image=pause"];
    assert.deepEqual(refusedSettings("kubelet", "1.34", flag), []);
    for (const { minor } of minors) {
      const refused = refusedSettings("kubelet", minor, flag).map(({ name }) => name);
      assert.deepEqual(refused, ["pod-infra-container-image"]);
    }
    assert.throws(
      () => checked("kubelet", "1.36", flag),
      /pod-infra-container-image \(gone since 1\.35, kubernetes\/kubernetes#133779\)/,
    );
  });

  it("feature gates are found inside their list", () => {
    const flags = ["--feature-gates=Other=false,NodeLogQuery=true"];
    const refused = refusedSettings("kubelet", "1.36", flags).map(({ name }) => name);
    assert.deepEqual(refused, ["NodeLogQuery"]);
    assert.deepEqual(refusedSettings("kubelet", "1.35", flags), []);
    assert.deepEqual(refusedSettings("kube-proxy", "1.36", flags), []);
  });
});

describe("the taints that a kubelet sends at its registration", () => {
  const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule";

  /**
   * As `initialNode` makes them (kubernetes/kubernetes, pkg/kubelet/kubelet_node_status.go, the same in 1.36 and 1.37).
   */
  function sent(config: string, commandLine: string): readonly string[] {
    const listed: readonly { key: string; effect: string }[] = parse(config).registerWithTaints ?? [];
    const external = /--cloud-provider=external\b/.test(commandLine);
    return [...listed.map(({ key, effect }) => `${key}:${effect}`), ...(external ? [uninitialized] : [])];
  }

  for (const cloud of ["aws", "azure"] as const)
    for (const version of exampleReleases)
      it(`are each there once on ${cloud} in ${minorOf(version)}: the API server refuses a second one of the same key and effect`, () => {
        const spec = specAt(cloud, version);
        for (const [payload, own] of [
          [exampleControlPlane(spec), ["node-role.kubernetes.io/control-plane:NoSchedule"]],
          [exampleLinuxWorker(spec), []],
        ] as const)
          assert.deepEqual(
            sent(fileOf(payload, "/etc/fenestra/kubelet.yaml"), fileOf(payload, "/etc/fenestra/kubelet.env")),
            [...own, uninitialized],
          );
        for (const { payload } of onePerSystem(cloud, version))
          assert.deepEqual(
            sent(
              fileOf(payload, "C:\\etc\\kubernetes\\kubelet-config.yaml"),
              JSON.parse(fileOf(payload, "C:\\fenestra\\machine.json")).kubelet.arguments.join(" "),
            ),
            ["os:NoSchedule", uninitialized],
          );
      });
});

describe("the fingerprint of a payload", () => {
  for (const stack of ["aws-prod", "azure-prod"])
    it(`is what the gate behind each pool of ${stack} wants of its nodes`, async () => {
      const recorded = await runStack(stack);
      const gates = [...ofType(recorded, "pulumi:index:Stash")].flatMap(([name, { inputs }]) => {
        const pool = new RegExp(`^${stack}-in-pool-(.+)$`).exec(name)?.[1];
        return pool === undefined ? [] : [[pool, JSON.parse(JSON.stringify(inputs.input)).fingerprint] as const];
      });
      const machines = collectMachines(recorded.program, ({ desired }) => Math.max(desired, 1));
      const labels = machines.flatMap(({ role, userData }) => {
        const { files } = decodeUserData(userData, awsObjects(recorded.program, role));
        const flags = files
          .map(({ content }) => /--node-labels=([^\s"]+)/.exec(content)?.[1])
          .find((found) => found !== undefined);
        const registered = new Map(
          (flags ?? "")
            .split(",")
            .map((pair): [string, string] => [pair.split("=")[0] ?? "", pair.split("=")[1] ?? ""]),
        );
        const pool = registered.get("fenestra.dev/pool");
        return pool === undefined ? [] : [[pool, registered.get("fenestra.dev/payload")] as const];
      });
      assert.equal(gates.length, specOf(stack).pools.length);
      assert.deepEqual(new Map(gates), new Map(labels));
    });
});
