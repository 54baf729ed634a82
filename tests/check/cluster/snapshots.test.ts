import assert from "node:assert/strict";
import { snapshotFindings } from "../../../check/cluster/parts.ts";
import { lateSnapshotHours } from "../../../components/model/timings.ts";
import { readDocument } from "../../docs/documents.ts";

describe("the age of etcd's snapshots", () => {
  const now = new Date("2026-11-20T12:00:00Z");
  const ago = (hours: number): Date => new Date(now.getTime() - hours * 3_600_000);
  const entry = (hours: number): string => `${ago(hours).toISOString()} aws-prod/cp/x.db.gz 1000`;
  const old = [ago(100), ago(100), ago(100)];
  const findings = (data: Readonly<Record<string, string>>, created = old) => snapshotFindings(data, created, now);

  it("is within the limit, which the documentation names, and with members whose first is not due", () => {
    assert.deepEqual(findings({ "cp-0": entry(4), "cp-1": entry(8.9), "cp-2": entry(0) }), { problems: [], notDue: 0 });
    assert.deepEqual(findings({ "cp-0": entry(4) }, [ago(100), ago(0.5), ago(0.9)]), { problems: [], notDue: 2 });
    assert.deepEqual(findings({}, [ago(0.1)]), { problems: [], notDue: 1 });
    assert.ok(
      readDocument("docs/operations/backup.md").text.includes(`_timestamp_seconds > ${lateSnapshotHours} * 3600`),
    );
  });

  it("is told where two in a row failed, or none was sent", () => {
    assert.deepEqual(findings({ "cp-0": entry(4), "cp-1": entry(13) }), {
      problems: ["the last one of cp-1 is of 2026-11-19T23:00:00.000Z", "1 of 3 members have never sent one"],
      notDue: 0,
    });
    assert.deepEqual(
      findings({ "cp-0": "soon x 1", "cp-1": entry(-2), node: entry(1).replace("1000", "0") }).problems,
      [
        "the last one of cp-0 is of soon, which is no time",
        `the last one of cp-1 is of ${ago(-2).toISOString()}, which is to come`,
        `the last one of node is of ${ago(1).toISOString()}, which has no size, which is of no member`,
        "1 of 3 members have never sent one",
      ],
    );
    const other = { "cp-0": entry(4), "cp-1": entry(4), "cp-3": entry(4) };
    assert.deepEqual(findings(other).problems, ["1 of 3 members have never sent one"]);
    assert.deepEqual(findings({}, old).problems, ["3 of 3 members have never sent one"]);
  });
});
