// Sees what nothing faster does: which stacks a change of the repository moves, by plans of two commits.
import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { changesComment, commentLimit, commentOfFile, failureComment, marker } from "../../cli/changes/comment.ts";
import { compareStacks } from "../../cli/changes/compare.ts";
import { bareChange, type StackChange, statuses } from "../../cli/changes/stackChange.ts";
import { UsageError } from "../../cli/exit.ts";
import { changesJson } from "../../cli/printed.ts";
import { ConfigError } from "../../components/model/problem.ts";
import type { Plan } from "../../plan/plan.ts";
import { planJson } from "../../plan/report/markdown.ts";
import { planOf } from "../support/planOf.ts";
import { stackConfig } from "../support/stacks.ts";
import { suiteFolder } from "../support/suite.ts";

const source = { sha: "0123456789abcdef0123456789abcdef01234567", runUrl: "https://github.com/o/r/actions/runs/1" };

const azure = await planOf("azure-dev", stackConfig("azure-dev"));
const aws = await planOf("aws-dev", stackConfig("aws-dev"));

describe("the stacks that change", function () {
  this.timeout(120_000);
  const plans = (stack: string) => (stack === "azure-dev" ? azure : aws);
  const texts = (stacks: readonly string[], change: (plan: Plan) => Plan = (plan) => plan) => ({
    stacks,
    plan: async (stack: string) => planJson(change(plans(stack))),
  });
  const now = (...stacks: readonly string[]) => ({ stacks, plan: async (stack: string) => plans(stack) });

  it("are those whose plan differs, and no other", async () => {
    const bigger = (plan: Plan): Plan => ({
      ...plan,
      resources: plan.resources.map((resource) =>
        resource.name === "aws-dev-pool-win2022-template"
          ? { ...resource, inputs: { instanceType: "m7i.xlarge" } }
          : resource,
      ),
    });
    const [first, second] = await compareStacks(texts(["aws-dev", "azure-dev"], bigger), now("aws-dev", "azure-dev"));
    assert.equal(first?.change.status, "changed");
    assert.match(first?.change.nodes ?? "", /^~ win2022: rolls one by one, 2 machines/m);
    assert.match(first?.change.nodes ?? "", /^ {2}linux: stays, 2 machines$/m);
    assert.equal(first?.change.summary, "", "the plan of a stack that changes is with the run, not in the comment");
    assert.equal(first?.plan, aws);
    assert.equal(second?.change.status, "same");
  });

  it("are told by what becomes of machines and resources", async () => {
    const config = stackConfig("aws-dev");
    const more = await planOf("aws-dev", {
      ...config,
      "fenestra:pools": config["fenestra:pools"]?.replace('"count":2', '"count":5') ?? "",
    });
    const [compared] = await compareStacks(texts(["aws-dev"]), { stacks: ["aws-dev"], plan: async () => more });
    const { overview } = compared?.change ?? assert.fail("nothing was compared");
    assert.deepEqual(overview, {
      controlPlane: [{ name: "aws-dev-control-plane-0-instance", fate: "stays" }],
      pools: ["linux", "win2019", "win2022"].map((name) => ({ name, fate: name === "linux" ? "changed" : "stays" })),
      ...{ added: 0, removed: 0, changed: 1, replaced: 0, refused: 0, lost: 0, newFindings: 0, goneFindings: 0 },
    });
  });

  it("may be new or gone", async () => {
    const compared = await compareStacks(texts(["aws-dev"]), now("azure-dev"));
    const shown = compared.map(({ change: { stack, status, overview }, plan }) => [
      stack,
      status,
      overview?.pools.length,
      plan?.stack,
    ]);
    assert.deepEqual(shown, [
      ["aws-dev", "removed", undefined, undefined],
      ["azure-dev", "added", 3, "azure-dev"],
    ]);
    assert.match(compared[1]?.change.summary ?? "", /^azure-dev: Kubernetes \d/);
    assert.match(compared[0]?.change.reason ?? "", /^The stack file is removed. No resource is deleted by that/);
  });

  it("tell why one cannot be planned, or cannot be compared", async () => {
    const failing = {
      stacks: ["aws-dev"],
      plan: async (): Promise<Plan> => {
        throw new ConfigError([{ path: "config.fenestra:name", value: 1, message: "is no name", allowed: "a name" }]);
      },
    };
    const [failed] = await compareStacks(texts(["aws-dev"]), failing);
    assert.equal(failed?.change.status, "failed");
    assert.match(failed?.change.reason ?? "", /config\.fenestra:name: is no name/);
    const broken = {
      stacks: ["aws-dev"],
      plan: async (): Promise<string> => {
        throw new UsageError("--since x: that version cannot plan aws-dev: no");
      },
    };
    const [unknown] = await compareStacks(broken, now("aws-dev"));
    assert.deepEqual(
      [unknown?.change.status, unknown?.change.reason],
      ["unknown", "--since x: that version cannot plan aws-dev: no"],
    );
    assert.match(
      (await compareStacks({ stacks: ["aws-dev"], plan: async () => `{"version":0}` }, now("aws-dev")))[0]?.change
        .reason ?? "",
      /^it is no plan.json of version/,
    );
  });
});

/** What is outside of fenced blocks, which end with a fence at least as long, as in CommonMark. */
function outside(comment: string) {
  let open = 0;
  return comment
    .split("\n")
    .filter((line) => {
      const length = /^ {0,3}(`{3,})/.exec(line)?.[1]?.length ?? 0;
      if (open === 0 && length > 0) open = length;
      else if (open > 0 && length >= open && /^ {0,3}`+[ \t]*$/.test(line)) open = 0;
      else return open === 0;
      return false;
    })
    .join("\n");
}

const change = (over: Partial<StackChange> = {}): StackChange => ({
  ...bareChange("aws-dev", "changed"),
  overview: {
    ...{ added: 1, removed: 0, changed: 3, replaced: 2, refused: 1, lost: 1, newFindings: 2, goneFindings: 0 },
    controlPlane: [{ name: "aws-dev-control-plane-0-instance", fate: "replaced" }],
    pools: ["a", "b", "c", "d", "e", "f"].map((name) => ({ name, fate: "rolled" as const })),
  },
  nodes: "Nodes\n! aws-dev-control-plane-0-instance: is replaced",
  values: "Resources: + 1",
  ...over,
});

describe("the comment on a pull request", () => {
  const folder = suiteFolder();

  it("shows what cannot be planned, then what changes, then the rest in a line", () => {
    const same = bareChange("azure-dev", "same");
    const failed = bareChange("azure-prod", "failed", "no region");
    assert.equal(
      changesComment([change(), same, failed], source),
      `${marker}
Plan of \`${source.sha}\`, made without an account. With [the run](${source.runUrl}) are the plans as pages, whole comparisons, and all files of machines.

| Stack | | Control plane | Pools | + new ~ changed - removed ! replaced or may be | Findings |
| --- | --- | --- | --- | --- | --- |
| \`azure-prod\` | **cannot be planned** |  |  |  |  |
| \`aws-dev\` | **1 refused**, **data is lost**, changes | **replaced** | rolled one by one: a, b, c, d, e, 1 more | +1 ~3 -0 !2 | 2 new |
| \`azure-dev\` | no change |  |  |  |  |

<details open><summary><code>azure-prod</code>: why</summary>

\`\`\`\`text
no region
\`\`\`\`

</details>

<details open><summary><code>aws-dev</code>: nodes</summary>

\`\`\`\`diff
Nodes
! aws-dev-control-plane-0-instance: is replaced
\`\`\`\`

</details>

<details open><summary><code>aws-dev</code>: resources and values</summary>

\`\`\`\`diff
Resources: + 1
\`\`\`\`

</details>
`,
    );
  });

  const hostile = [
    "````\n@octocat see #1 and ![x](https://example.com/x.png)",
    "```\n~~~\n</details>\n<img src=https://example.com/x.png>",
    "\r````\r@octocat\r",
    `${"`".repeat(70_000)}\n@octocat`,
    "\u2028````\u2028/merge\u2028@octocat",
    `${marker}\n@octocat`,
  ];

  it("shows no character that is unseen or turns the line around", () => {
    assert.match(
      changesComment([change({ nodes: "a\u202Eb\u200Bc\u0000d\u001B[31me\u{E0041}\tf" })], source),
      /a\uFFFDb\uFFFDc\uFFFDd\uFFFD\[31me\uFFFD\tf/,
    );
  });

  const text = fc
    .oneof(
      fc.string({ unit: "binary", maxLength: 300 }),
      fc.array(fc.constantFrom("`", "\n", "~", "@octocat", "</details>", "é", "🪟", "\r", " "), { maxLength: 400 }),
      fc.constantFrom(...hostile),
      fc
        .tuple(fc.constantFrom("a\n", "🪟", "````\n@octocat "), fc.nat(60_000))
        .map(([part, times]) => part.repeat(times)),
    )
    .map((found) => (typeof found === "string" ? found : found.join("")));
  const anyChange = fc.record({
    stack: fc.stringMatching(/^[A-Za-z0-9_.-]{1,100}$/),
    status: fc.constantFrom(...statuses),
    overview: fc.constantFrom(null, change().overview),
    reason: text,
    nodes: text,
    values: text,
    findings: text,
    files: text,
    summary: text,
  });

  it("is never longer than GitHub takes, and lets no text out of its block", function () {
    this.timeout(60_000);
    fc.assert(
      fc.property(fc.array(anyChange, { maxLength: 60 }), (changes) => {
        const comment = changesComment(changes, source);
        assert.ok(Buffer.byteLength(comment) <= commentLimit, `${Buffer.byteLength(comment)} bytes`);
        assert.ok(comment.startsWith(`${marker}\n`));
        assert.doesNotMatch(outside(comment), /octocat|example\.com|merge/);
        assert.equal(outside(comment).split(marker).length, 2);
        assert.equal(comment.isWellFormed(), true);
      }),
      { numRuns: 60 },
    );
  });

  it("reads the file that the plan wrote, and no other", () => {
    const file = path.join(folder, "changes.json");
    const of = (content: string) => {
      writeFileSync(file, content);
      return commentOfFile(file, source);
    };
    assert.equal(of(changesJson([change()])), changesComment([change()], source));
    const failure = failureComment(source);
    assert.equal(failure, `${marker}\nThere is no plan of \`${source.sha}\`: [the run](${source.runUrl}) says why.\n`);
    const good: unknown = JSON.parse(changesJson([change()]));
    assert.ok(typeof good === "object");
    for (const stack of ["a`b", "a|b", "<b>", "@octocat/x", "", "a".repeat(101), "a\n"])
      assert.equal(of(changesJson([change({ stack })])), failure, stack);
    for (const content of ["", "null", "[]", "{}", `{"version":3}`, `{"version":1,"stacks":[]}`])
      assert.equal(of(content), failure, content);
    assert.equal(of(`{"version":3,"stacks":[{"stack":"a","status":"@octocat"}]}`), failure);
    const text = changesJson([change()]);
    for (const [from, to] of [
      [`"fate": "rolled"`, `"fate": "@octocat"`],
      [`"name": "a"`, `"name": "@octocat"`],
      [`"added": 1`, `"added": "1"`],
      [`"reason": ""`, `"reason": 1`],
    ] as const) {
      assert.ok(text.includes(from));
      assert.equal(of(text.replace(from, to)), failure, to);
    }
    assert.equal(commentOfFile(path.join(folder, "none.json"), source), failure);
    const link = path.join(folder, "link.json");
    writeFileSync(file, changesJson([change()]));
    symlinkSync(file, link);
    assert.equal(commentOfFile(link, source), failure, "a link may lead out of the artifact");
  });
});
