import assert from "node:assert/strict";
import { parse } from "yaml";
import { minorOf } from "../../components/model/releases.ts";
import { exampleControlPlane, exampleLinuxWorker, exampleReleases, fileOf, onePerSystem, specAt } from "./examples.ts";

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
