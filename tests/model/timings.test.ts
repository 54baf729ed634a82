import assert from "node:assert/strict";
import { scheduledJobs } from "../../components/machine/linux/systemdUnits.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import {
  etcdSeconds,
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

describe("durations", () => {
  it("leave a node that drains time to tell its cloud", () => {
    for (const cloud of ["aws", "azure"] as const)
      for (const os of ["linux", "windows"] as const)
        assert.ok(
          cloudFacts[cloud].timings.drain[os] + 30 <= cloudFacts[cloud].timings.termination[os],
          `${cloud} ${os}`,
        );
    for (const os of ["linux", "windows"] as const) {
      assert.ok(cloudFacts.aws.timings.drain[os] + heartbeatSeconds <= cloudFacts.aws.timings.termination[os]);
      assert.ok(2 * heartbeatSeconds < cloudFacts.aws.timings.termination[os]);
      // Notice of a spot machine: two minutes on AWS, at least half a one on Azure.
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
    // Five machines at most, whose slots come in turn.
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
    for (const [what, inner, outer] of order) assert.ok(inner < outer, `${what}: ${inner} s, ${outer} s`);
    assert.ok(job < 24 * 3600);
  });

  it("let a machine join before anybody gives it up", () => {
    assert.ok(provisionMinutes * 60 <= joinSeconds.windows, "the autoscaler gives up first, and asks another group");
  });

  it("let a join secret or a snapshot miss a turn", () => {
    assert.ok(joinTokenSeconds >= 2 * joinSecretSeconds);
    for (const days of Object.values(snapshotDays)) assert.ok(days * 24 > 2 * snapshotHours);
  });
});
