import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { stringify } from "yaml";
import type { KubeletSettings } from "../../components/config/machineSchema.ts";
import { containerdPaths } from "../../components/machine/containerd.ts";
import { kubeletConfiguration } from "../../components/machine/kubeletConfig.ts";
import type { MachinePayload } from "../../components/machine/payload.ts";
import { windowsPaths } from "../../components/machine/windows/paths.ts";
import { defaultRelease, minorOf, versions as pins } from "../../components/model/releases.ts";
import { featureGates as gatesOf, kubeletFields, kubeletGates } from "../../components/model/reservedFlags.ts";
import { type Checkers, type ConfigRequest, checkConfigs } from "../../rehearsal/programs/checkers.ts";
import { checkersOrSkip } from "../support/skip.ts";
import {
  exampleControlPlane,
  exampleLinuxWorker,
  fileOf,
  onePerSystem,
  registryPayload as payloadOf,
  registryPaths,
  specAt,
} from "./examples.ts";

const clouds = ["aws", "azure"] as const;

const paths = {
  linux: { kubelet: "/etc/fenestra/kubelet.yaml", containerd: containerdPaths.linux.config },
  windows: { kubelet: windowsPaths.kubeletConfig, containerd: windowsPaths.containerdConfig },
} as const;

/** Every kind of machine of a cloud at a release. */
function machinesOf(cloud: (typeof clouds)[number], version: string): readonly (readonly [string, MachinePayload])[] {
  const spec = specAt(cloud, version);
  return [
    ["control-plane", exampleControlPlane(spec)],
    ["linux", exampleLinuxWorker(spec)],
    ...onePerSystem(cloud, version).map(({ pool, payload }) => [pool.release.name, payload] as const),
  ];
}

function requestFor(kind: ConfigRequest["kind"], payload: MachinePayload, minor: string): ConfigRequest {
  const os = payload.kind === "windows" ? "windows" : "linux";
  return { id: kind, kind, os, minor, text: fileOf(payload, paths[os][kind]) };
}

/**
 * Has the configuration files of machines read by upstream's own code.
 * @param releases those whose kubelets read; a kubelet of another minor takes minutes to build
 */
export function readConfigs(releases: readonly string[]) {
  describe("configuration files as upstream's own code reads them", () => {
    let checkers: Checkers;
    before(async function () {
      checkers = await checkersOrSkip(this, releases.map(minorOf));
    });

    const problems = async (request: ConfigRequest) => {
      const found = (await checkConfigs(checkers, [request])).get(request.id);
      assert.ok(found !== undefined);
      return found;
    };

    it("are read by the containerd minor that the machines run", () => {
      const goMod = readFileSync(new URL("../../rehearsal/runtime/containers/go.mod", import.meta.url), "utf8");
      const pinned = /^\tgithub\.com\/containerd\/containerd\/v2 v(\d+\.\d+)\./m.exec(goMod)?.[1];
      assert.deepEqual([...new Set(Object.values(pins.components.containerd).map(minorOf))], [pinned]);
    });

    for (const version of releases) {
      for (const cloud of clouds)
        for (const [name, payload] of machinesOf(cloud, version))
          it(`of ${name} on ${cloud} with Kubernetes ${version} have no problem`, async () => {
            assert.deepEqual(await problems(requestFor("kubelet", payload, minorOf(version))), []);
            assert.deepEqual(await problems(requestFor("containerd", payload, minorOf(version))), []);
          });
    }

    describe("with every setting of a pool", () => {
      const settings: KubeletSettings = {
        maxPods: 200,
        kubeReserved: { cpu: "250m", memory: "700Mi" },
        systemReserved: { "ephemeral-storage": "4Gi" },
        evictionHard: { "memory.available": "600Mi", "nodefs.available": "12%" },
        evictionSoft: { "memory.available": "1Gi" },
        evictionSoftGracePeriod: { "memory.available": "1m30s" },
        evictionMaxPodGracePeriod: 60,
        imageGCHighThresholdPercent: 80,
        imageGCLowThresholdPercent: 70,
        imageMinimumGCAge: "5m",
        imageMaximumGCAge: "168h",
        containerLogMaxSize: "50Mi",
        containerLogMaxFiles: 3,
        maxParallelImagePulls: 5,
        registryPullQPS: 10,
        registryBurst: 20,
      };
      const onLinux: KubeletSettings = {
        podPidsLimit: 4096,
        cpuManagerPolicy: "static",
        topologyManagerPolicy: "best-effort",
        allowedUnsafeSysctls: ["net.core.somaxconn", "kernel.shm*"],
        evictionHard: { "nodefs.inodesFree": "6%", "imagefs.inodesFree": "6%", "pid.available": "7%" },
      };
      for (const version of releases) {
        const minor = minorOf(version);
        // All off: many gates may not be on without another one.
        const featureGates = Object.fromEntries(kubeletGates(gatesOf(`${minor}.0`)).map((gate) => [gate, false]));
        for (const os of ["linux", "windows"] as const)
          it(`a KubeletConfiguration of ${os} has no problem at ${version}`, async () => {
            const pool = specAt("aws", version).pools.find((pool) => pool.os === os);
            assert.ok(pool !== undefined);
            const kubelet = { ...settings, ...(os === "linux" ? onLinux : {}) };
            const read = (given: KubeletSettings) => {
              const text = stringify(
                kubeletConfiguration({
                  spec: specAt("aws", version),
                  pool: { ...pool, nodeLogQuery: true, kubelet: given },
                }),
              );
              return problems({ id: "kubelet", kind: "kubelet", os, minor, text });
            };
            assert.deepEqual(await read(kubelet), []);
            const locked = (await read({ featureGates })).filter((problem) =>
              /unrecognized|cannot set|panic/.test(problem),
            );
            assert.deepEqual([Object.keys(featureGates).length > 100, locked], [true, []]);
            // Of a value of another kind the reader says so, or that it has no such field.
            const isUnknown = async (field: string) =>
              (await read({ [field]: { no: ["such"] } })).join().includes(`unknown field "${field}"`);
            assert.deepEqual(
              (
                await Promise.all(
                  [...kubeletFields(minor).filter((field) => field !== "featureGates"), "maxPodz"].map(async (field) =>
                    (await isUnknown(field)) ? [field] : [],
                  ),
                )
              ).flat(),
              ["maxPodz"],
            );
            assert.match(
              (await read({ ...kubelet, imageGCLowThresholdPercent: 90 })).join(),
              /imageGCLowThresholdPercent/,
            );
          });
      }
    });

    for (const version of releases)
      for (const cloud of clouds)
        for (const os of ["linux", "windows"] as const)
          it(`of the registries' plug-in on ${cloud} and ${os} at ${version} have no problem, and would`, async () => {
            const text = fileOf(payloadOf(cloud, os), registryPaths[os].config);
            const read = (given: string) =>
              problems({ id: "credentials", kind: "kubelet", os, minor: minorOf(version), text: given });
            assert.deepEqual(await read(text), []);
            assert.deepEqual(await read(text.replace("matchImages", "matchImage")), [
              'unknown field "providers[0].matchImage"',
            ]);
            const [found = ""] = await read(text.replace(/^ *defaultCacheDuration: .*\n/m, ""));
            assert.match(found, /defaultCacheDuration: Required value/);
          });

    // Each what only its reader sees: upstream's code, and what that ignores. Of kubelets' readers the settings above say it.
    for (const [os, was, is, problem] of [
      ["linux", "SystemdCgroup", "SystemdCgroups", /^SystemdCgroup is not true$/],
      ["windows", "pinned_images", "pinned_image", /unknown key pinned_image$/],
    ] as const)
      it(`would have one: ${problem.source}`, async () => {
        const machines = machinesOf("aws", defaultRelease).map(([, payload]) => payload);
        const payload = machines.find((each) => (each.kind === "windows") === (os === "windows")) ?? assert.fail();
        const request = requestFor("containerd", payload, minorOf(defaultRelease));
        assert.match((await problems({ ...request, text: request.text.replace(was, is) })).join(), problem);
      });
  });
}
