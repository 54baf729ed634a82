import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { loadConfig } from "../../components/config/load.ts";
import { kubeletConfiguration } from "../../components/machine/kubeletConfig.ts";
import { staticPodPatches } from "../../components/machine/linux/staticPodPatches.ts";
import { scheduledJobs } from "../../components/machine/linux/systemdUnits.ts";
import { windowsStages } from "../../components/machine/windows/stages.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import {
  apiShutdownSeconds,
  etcdSeconds,
  healthSeconds,
  heartbeatSeconds,
  joinSeconds,
  joinSecretSeconds,
  joinTokenSeconds,
  noticeSeconds,
  provisionMinutes,
  snapshotDays,
  snapshotHours,
  takenAwaySeconds,
} from "../../components/model/timings.ts";
import { exampleSpec, stackConfig } from "../support/stacks.ts";

/** What upstream sets: kubernetes, defaults of core/v1, the node lifecycle controller, kubeadm. */
const upstream = { renewal: 10, grace: 50, podGrace: 30, toleration: 300, liveness: 8 * 10 } as const;

/** A wait is longer than what is waited for. */
function hold(order: readonly (readonly [what: string, inner: number, outer: number])[]) {
  assert.deepEqual(
    order.filter(([, inner, outer]) => !(inner < outer)),
    [],
  );
}

describe("durations", () => {
  it("leave a node that drains time to tell its cloud", () => {
    for (const cloud of ["aws", "azure"] as const)
      for (const os of ["linux", "windows"] as const)
        assert.ok(
          cloudFacts[cloud].timings.drain[os] + 30 <= cloudFacts[cloud].timings.termination[os],
          `${cloud} ${os}`,
        );
    // The wait for load balancers is beside evictions; on AWS it may begin at a drain's end, as the hook waits.
    for (const cloud of ["aws", "azure"] as const) {
      const { balancerLeaves, drain, spotDrain, termination } = cloudFacts[cloud].timings;
      for (const os of ["linux", "windows"] as const) {
        hold([[`${cloud} ${os}: the wait for load balancers and two graces of pods`, balancerLeaves + 60, drain[os]]]);
        const last = cloud === "aws" ? balancerLeaves : 0;
        for (const most of [drain[os], spotDrain[os]])
          hold([[`${cloud} ${os}: the latest wait, and the hook or notice`, most + last + 29, termination[os]]]);
      }
    }
    for (const os of ["linux", "windows"] as const) {
      assert.ok(cloudFacts.aws.timings.drain[os] + heartbeatSeconds <= cloudFacts.aws.timings.termination[os]);
      assert.ok(2 * heartbeatSeconds < cloudFacts.aws.timings.termination[os]);
      // A spot machine's notice: two minutes on AWS, at least half a minute on Azure.
      assert.ok(cloudFacts.aws.timings.spotDrain[os] + 3 * noticeSeconds <= 120);
      assert.ok(cloudFacts.azure.timings.spotDrain[os] + noticeSeconds <= 30);
      // Azure documentation, terminate notification: 5 to 15 minutes, whole ones.
      const minutes = cloudFacts.azure.timings.termination[os] / 60;
      assert.ok(Number.isInteger(minutes) && minutes >= 5 && minutes <= 15);
    }
  });

  it("know each other around etcd: what is waited for ends before who waits does", () => {
    const { defragmentation, turn, liveness, job } = etcdSeconds;
    const jobs = scheduledJobs(snapshotHours).map(
      ({ file, settings }) => [file, settings?.limitSeconds ?? 900] as const,
    );
    const limits = Object.fromEntries(jobs);
    // At most five machines, with slots in turn.
    const order: readonly (readonly [string, number, number])[] = [
      ["a defragmentation, and the kubelet's patience with etcd", defragmentation, liveness.period * liveness.failures],
      ["a defragmentation, and the turn of the next machine", defragmentation, turn],
      [
        "the last turn of five, and the job of defragmentation",
        5 * turn + 2 * defragmentation,
        limits["etcd-defrag.sh"] ?? 0,
      ],
      ["the last turn of five and a renewal, and its job", 5 * turn + 4 * 600, limits["renew-certificates.sh"] ?? 0],
      ["a snapshot and one upload, and their job", 600 + 600, limits["etcd-snapshot.sh"] ?? 0],
      ["a notice's drain on Azure, and the look whether the machine is still there", 270, takenAwaySeconds],
    ];
    hold(order);
    assert.ok(job < 24 * 3600);
  });

  it("know each other around the API server, the kubelets and the controllers", () => {
    const spec = exampleSpec("aws-prod");
    const delay = apiShutdownSeconds;
    const critical = Number.parseInt(String(kubeletConfiguration({ spec }).shutdownGracePeriodCriticalPods), 10);
    const [, duration = "", renew = "", safe = ""] =
      /^DURATION, RENEW, SAFE = (\d+), (\d+), (\d+)$/m.exec(
        readFileSync(new URL("../../components/nodeController/program/lease.py", import.meta.url), "utf8"),
      ) ?? [];
    const replaced = loadConfig(stackConfig("aws-prod")).repair.notReadyAfter * 60;
    const api = staticPodPatches.find(({ path }) => path.includes("kube-apiserver"));
    const path = String(parse(api?.content ?? "").spec.containers[0].livenessProbe?.httpGet?.path);
    hold([
      [
        "a defragmentation, and the patience with an API server whose health has etcd in it",
        /[?&]exclude=etcd\b/.test(path) ? 0 : etcdSeconds.defragmentation,
        upstream.liveness,
      ],
      ...(["aws", "azure"] as const).map(
        (cloud) =>
          [
            `${cloud}'s balancer, and an ending API server`,
            cloudFacts[cloud].balancerLooks.every * cloudFacts[cloud].balancerLooks.failures,
            delay + 1,
          ] as const,
      ),
      ["an API server that is about to end, and its pod's grace", delay, upstream.podGrace],
      ["its pod's grace, and the machine's shutdown", upstream.podGrace, critical],
      ["a balancer's look and that grace: no node is lost by an API server", delay + upstream.renewal, upstream.grace],
      ["the controller-manager's grace, and a machine's own patience", upstream.grace, healthSeconds.patience],
      [
        "grace and toleration, by which pods go, and the machine's replacement",
        upstream.grace + upstream.toleration,
        replaced,
      ],
      ["a machine's own patience, and its replacement", healthSeconds.patience, replaced],
      ["four renewals of the node controller, and where it stops by itself", 4 * Number(renew), Number(safe)],
      ["where it stops by itself, and its lease", Number(safe), Number(duration)],
      ["a machine on its way, and its replacement as one that is not Ready", joinSeconds.linux, replaced],
    ]);
    // A hanging stage ends while there is time for another try.
    for (const { name, limitSeconds } of windowsStages) hold([[name, limitSeconds, joinSeconds.windows]]);
  });

  it("let a machine join before anybody gives it up", () => {
    assert.ok(provisionMinutes * 60 <= joinSeconds.windows, "the autoscaler gives up first, and asks another group");
  });

  it("let a join secret or a snapshot miss a turn", () => {
    assert.ok(joinTokenSeconds >= 2 * joinSecretSeconds);
    for (const days of Object.values(snapshotDays)) assert.ok(days * 24 > 2 * snapshotHours);
  });
});
