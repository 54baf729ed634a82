import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { stringify } from "yaml";
import type { KubeletSettings } from "../../components/config/flagSchema.ts";
import { containerdPaths } from "../../components/machine/containerd.ts";
import { kubeletConfiguration } from "../../components/machine/kubeletConfig.ts";
import type { MachinePayload } from "../../components/machine/payload.ts";
import { windowsPaths } from "../../components/machine/windows/paths.ts";
import { kubeletFields } from "../../components/model/kubeletFields.ts";
import { compareVersions, defaultRelease, minorOf, versions as pins } from "../../components/model/releases.ts";
import { featureGates as gatesOf, kubeletGates } from "../../components/model/reservedFlags.ts";
import type { Checkers } from "../../rehearsal/testkit/programs.ts";
import { type ConfigRequest, checkConfigs } from "../../rehearsal/testkit/readers.ts";
import { checkersOrSkip } from "../support/checkers.ts";
import { exampleControlPlane, exampleLinuxWorker, fileOf, onePerSystem, specAt } from "./examples.ts";
import { payloadOf, paths as registryPaths } from "./registryAccess.ts";

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
export function readConfigs(releases: readonly string[]): void {
  describe("configuration files as upstream's own code reads them", () => {
    let checkers: Checkers;
    before(async function () {
      checkers = await checkersOrSkip(this, releases.map(minorOf));
    });

    const problems = async (request: ConfigRequest): Promise<readonly string[]> => {
      const found = (await checkConfigs(checkers, [request])).get(request.id);
      assert.ok(found !== undefined);
      return found;
    };

    it("are read by the minor of each release", () =>
      assert.deepEqual([...checkers.kubelet.keys()].sort(), releases.map(minorOf)));

    it("are read by the containerd minor that the machines run", () => {
      const goMod = readFileSync(new URL("../../tools/readers/go.mod", import.meta.url), "utf8");
      const pinned = /^\tgithub\.com\/containerd\/containerd\/v2 v(\d+\.\d+)\./m.exec(goMod)?.[1];
      const versions = Object.values(pins.components.containerd).map(minorOf);
      assert.deepEqual([...new Set(versions)], [pinned]);
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
            const fields = kubeletFields(minor).filter((field) => field !== "featureGates");
            const unknown = (
              await read(Object.fromEntries([...fields, "maxPodz"].map((field) => [field, null])))
            ).filter((problem) => problem.includes("unknown field"));
            assert.deepEqual(unknown.length, 1, unknown.join());
            assert.match(unknown.join(), /maxPodz/);
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
          it(`of the plug-in for registries on ${cloud} and ${os} have no problem at ${version}, and would have one`, async () => {
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

    /** Problems of a file of the AWS examples after a change, which must change something. */
    const changed = async (
      kind: ConfigRequest["kind"],
      os: "linux" | "windows",
      change: (text: string) => string,
      version = defaultRelease,
    ): Promise<readonly string[]> => {
      const payload = machinesOf("aws", version).find(
        ([, one]) => (one.kind === "windows") === (os === "windows"),
      )?.[1];
      assert.ok(payload !== undefined);
      const request = requestFor(kind, payload, minorOf(version));
      const text = change(request.text);
      assert.notEqual(text, request.text);
      return await problems({ ...request, text });
    };

    describe("find in a KubeletConfiguration", () => {
      const panic =
        "the kubelet would panic: failed to merge global and in-flight KubeletConfiguration while setting defaults, error: ";
      const added = (line: string) => (text: string) => `${text}${line}\n`;
      const since137 = (version: string) => compareVersions(version, "1.37.0") >= 0;

      const gone = `${panic}unrecognized feature gate: NoSuchGate`;
      const cases: readonly (readonly [string, RegExp, (text: string) => string])[] = [
        ["an unknown field", /^unknown field "maximumPods"$/, added("maximumPods: 50")],
        ["a field that is there twice", /key "clusterDomain" already set in map/, added("clusterDomain: other.local")],
        [
          "a value of the wrong type",
          /cannot unmarshal string into .* of type int32/,
          (text) => text.replace("MaxFiles: 5", "MaxFiles: five"),
        ],
        ["a feature gate that is not there", new RegExp(`^${gone}$`), added("featureGates: { NoSuchGate: true }")],
        [
          "a value that only the validation refuses",
          /^maxParallelImagePulls 0 must be/,
          (text) => text.replace("Pulls: 3", "Pulls: 0"),
        ],
        [
          "another kind of object",
          / in place of a KubeletConfiguration$/,
          (text) => text.replace(/(kind: ).*/s, "$1SerializedNodeConfigSource\n"),
        ],
      ];
      for (const [what, problem, change] of cases)
        it(what, async () => {
          for (const os of ["linux", "windows"] as const)
            assert.match((await changed("kubelet", os, change))[0] ?? "", problem);
        });

      it("a feature gate that a later minor took away, by that minor only", async () => {
        const gate = added("featureGates: { PodLifecycleSleepAction: true }");
        const byMinor = await Promise.all(
          releases.map(async (version) => await changed("kubelet", "windows", gate, version)),
        );
        const unknown = [`${panic}unrecognized feature gate: PodLifecycleSleepAction`];
        const wanted = releases.map((version) => (since137(version) ? unknown : []));
        assert.deepEqual(byMinor, wanted);
      });

      it("of Windows what upstream refuses or ignores there only", async () => {
        const cases: readonly (readonly [string, (text: string) => string])[] = [
          [
            "cgroupsPerQOS (--cgroups-per-qos) true is not supported on Windows, set it to false",
            (text) => text.replace("cgroupsPerQOS: false", "cgroupsPerQOS: true"),
          ],
          [
            "cgroupsPerQOS (--cgroups-per-qos) true is not supported on Windows, set it to false",
            (text) => text.replace("cgroupsPerQOS: false\n", ""),
          ],
          ["singleProcessOOMKill is not supported on Windows", added("singleProcessOOMKill: true")],
          ["userNamespaces is not supported on Windows", added("userNamespaces: { idsPerPod: 65536 }")],
          [
            'resolvConf (--resolv-conf) "/etc/resolv.conf" is no file on Windows, set it to "" or "Host"',
            (text) => text.replace('resolvConf: ""', "resolvConf: /etc/resolv.conf"),
          ],
          ['cgroupDriver "systemd" has no meaning on Windows, leave it out', added("cgroupDriver: systemd")],
          [
            'memorySwap.swapBehavior "LimitedSwap" has no meaning on Windows, leave it out',
            added("memorySwap: { swapBehavior: LimitedSwap }"),
          ],
        ];
        for (const [problem, change] of cases) assert.deepEqual(await changed("kubelet", "windows", change), [problem]);
      });
    });

    describe("find in containerd's configuration", () => {
      const images = "plugin io.containerd.cri.v1.images";
      const runtime = "plugin io.containerd.cri.v1.runtime";
      const cases: readonly (readonly [string, string | RegExp, (text: string) => string])[] = [
        [
          "an unknown key of a plugin",
          `${images}: unknown key registry.confg_path`,
          (text) => text.replace("config_path", "confg_path"),
        ],
        ["an unknown key at the top", "unknown key rooot", (text) => text.replace("root =", "rooot =")],
        [
          "an unknown plugin",
          "no plugin is called io.containerd.cri.v1.image",
          (text) => text.replaceAll("cri.v1.images'", "cri.v1.image'"),
        ],
        [
          "a value of the wrong type",
          /plugin io\.containerd\.cri\.v1\.runtime: .*(?:bin_dirs|cannot)/,
          (text) => text.replace(/bin_dirs = .*/, "bin_dirs = 3"),
        ],
        [
          "text that is no TOML",
          /^failed to unmarshal TOML at row \d+ column \d+/,
          (text) => text.replace("version = 3", "version = "),
        ],
        [
          "a misspelt pinned image",
          `${images}: pinned_images names "sandboxx", CRI knows sandbox only`,
          (text) => text.replace("sandbox =", "sandboxx ="),
        ],
        [
          "a pinned image with a tag beside its digest, which the kubelet's garbage collection would take",
          /^plugin io\.containerd\.cri\.v1\.images: pinned_images sandbox is stored as (\S+)@(\S+), so it is not pinned as \1:3@\2$/,
          (text) => text.replace("/pause@", "/pause:3@"),
        ],
        [
          "a runtime of no known type",
          new RegExp(`^${runtime}: runtime runh?c.* has the type "io.containerd.other.v1"`),
          (text) => text.replace(/runtime_type = '.*'/, "runtime_type = 'io.containerd.other.v1'"),
        ],
        [
          "a default runtime that is not there",
          new RegExp(`^${runtime}: invalid plugin config: no corresponding runtime`),
          (text) => `${text}\n[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = 'runsc'\n`,
        ],
      ];
      for (const [what, problem, change] of cases)
        for (const os of ["linux", "windows"] as const)
          it(`of ${os} ${what}`, async () => {
            const [found = "", ...more] = await changed("containerd", os, change);
            if (typeof problem === "string") assert.equal(found, problem);
            else assert.match(found, problem);
            assert.deepEqual(more, []);
          });

      it("an unknown option of a runtime, which containerd drops without a word", async () => {
        assert.deepEqual(
          await changed("containerd", "linux", (text) => text.replace("SystemdCgroup", "SystemdCgroups")),
          [`${runtime}: runtime runc: unknown option SystemdCgroups`],
        );
      });
    });
  });
}
