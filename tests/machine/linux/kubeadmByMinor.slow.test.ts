import assert from "node:assert/strict";
import { parse } from "yaml";
import { readArtifactLock } from "../../../components/model/artifacts.ts";
import { etcdImageTag, machineArtifacts, minorOf, requireMinorFacts } from "../../../components/model/releases.ts";
import { obtainPrograms } from "../../../rehearsal/testkit/programs.ts";
import { kubeadmProblems } from "../../../rehearsal/testkit/readers.ts";
import { obtainOrSkip } from "../../support/skip.ts";
import { exampleControlPlane, exampleReleases, fileOf, specAt } from "../examples.ts";

/** The release that the others are compared with. */
const base = "1.36.4";
const lock = readArtifactLock();

function configOf(cloud: "aws" | "azure", version: string, member = 0): string {
  return fileOf(exampleControlPlane(specAt(cloud, version), member), "/etc/fenestra/kubeadm.yaml");
}

describe("kubeadm configuration of each Kubernetes minor", () => {
  for (const version of exampleReleases)
    for (const cloud of ["aws", "azure"] as const) {
      it(`${version} on ${cloud} differs in versions alone, and has an etcd of that minor with its fixes, as etcdctl and etcdutl are`, () => {
        const told = (of: string): readonly string[] => [of, etcdImageTag(lock, of), requireMinorFacts(of).coredns];
        const [, ...tags] = told(version);
        const text = told(base).reduce(
          (all, was, at) => all.replaceAll(was, told(version)[at] ?? ""),
          configOf(cloud, base),
        );
        assert.equal(configOf(cloud, version), text);
        for (const tag of tags) assert.match(text, new RegExp(`imageTag: ${tag}$`, "m"));
        const [, minor = 0, patch = 0] = /imageTag: v?3\.(\d+)\.(\d+)/.exec(text)?.map(Number) ?? [];
        // CVE-2026-73499 and -73500 end in 3.6.14 and 3.7.1; kubeadm's own choice is older, of the same minor.
        assert.ok(minor === 7 ? patch >= 1 : patch >= 14, `${minor}.${patch}`);
        assert.equal(minor, minorOf(version) === "1.37" ? 7 : 6);
        const { etcd } = machineArtifacts(lock, version, "control-plane");
        assert.match(text, new RegExp(`imageTag: v?${etcd?.version}(-0)?$`, "m"));
      });

      it(`${version} on ${cloud} names no file that its static pod does not mount, and mounts none that the machine does not get`, () => {
        const payload = exampleControlPlane(specAt(cloud, version));
        const cluster = parse(configOf(cloud, version).split("---\n")[1] ?? "");
        for (const component of [cluster.apiServer, cluster.controllerManager, cluster.scheduler]) {
          const volumes: readonly { hostPath: string; mountPath: string; pathType: string }[] =
            component.extraVolumes ?? [];
          // What kubeadm mounts by itself (kubernetes/kubernetes, cmd/kubeadm/app/phases/controlplane/volumes.go).
          const mounted = ["/etc/kubernetes/pki", ...volumes.map(({ mountPath }) => mountPath)];
          const files: readonly { name: string; value: string }[] = component.extraArgs;
          for (const { name, value } of files.filter((arg) => arg.value.startsWith("/")))
            assert.ok(
              mounted.some((folder) => `${value}/`.startsWith(`${folder}/`)),
              `--${name}=${value}`,
            );
          for (const { hostPath } of volumes.filter(({ pathType }) => pathType === "File")) fileOf(payload, hostPath);
        }
      });

      it(`${version} on ${cloud} is accepted by kubeadm for every member`, async function () {
        const { kubeadm } = await obtainOrSkip(this, (progress) => obtainPrograms({ progress }));
        for (const { index } of specAt(cloud, version).controlPlane.members)
          assert.deepEqual(await kubeadmProblems(kubeadm.path, configOf(cloud, version, index)), []);
      });
    }
});
