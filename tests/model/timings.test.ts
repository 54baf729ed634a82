import assert from "node:assert/strict";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import {
  heartbeatSeconds,
  joinSeconds,
  joinSecretSeconds,
  joinTokenSeconds,
  noticeSeconds,
  provisionMinutes,
  snapshotDays,
  snapshotHours,
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

  it("let a machine join before anybody gives it up", () => {
    assert.ok(provisionMinutes * 60 <= joinSeconds.windows, "the autoscaler gives up first, and asks another group");
  });

  it("let a join secret or a snapshot miss a turn", () => {
    assert.ok(joinTokenSeconds >= 2 * joinSecretSeconds);
    for (const days of Object.values(snapshotDays)) assert.ok(days * 24 > 2 * snapshotHours);
  });
});
