import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { z } from "zod";

const folder = fileURLToPath(new URL("../../.github/workflows/", import.meta.url));
const tool = fileURLToPath(new URL("../../tools/actionlint/", import.meta.url));

const step = z.looseObject({ with: z.unknown().optional(), uses: z.string().optional(), run: z.string().optional() });
const workflow = z.looseObject({
  on: z.record(z.string(), z.unknown()),
  permissions: z.record(z.string(), z.string()),
  jobs: z.record(
    z.string(),
    z.looseObject({
      "timeout-minutes": z.number(),
      environment: z.string().optional(),
      permissions: z.record(z.string(), z.string()).optional(),
      steps: z.array(step),
    }),
  ),
});

const texts = Object.fromEntries(
  readdirSync(folder).map((file) => [file, readFileSync(path.join(folder, file), "utf8")]),
);
const workflows = Object.entries(texts).map(([file, text]) => ({ file, ...workflow.parse(parse(text)) }));
const jobs = workflows.flatMap(({ file, permissions, jobs: all }) =>
  Object.entries(all).map(([name, job]) => ({ at: `${file} ${name}`, permissions, ...job })),
);
const steps = jobs.flatMap(({ at, steps: all }) => all.map((one) => ({ at, ...one })));

describe("the workflows", () => {
  it("are five", () => {
    const expected = ["deploy.yml", "drift.yml", "preview-comment.yml", "preview.yml", "test.yml"];
    assert.deepEqual(Object.keys(texts).sort(), expected);
  });

  it("never run a branch's code with a secret at hand", () => {
    for (const { file, on } of workflows) assert.ok(!("pull_request_target" in on), file);
    assert.ok(Object.values(texts).every((text) => !text.includes("secrets.")));
    const comment = jobs.filter(({ at }) => at.startsWith("preview-comment.yml"));
    assert.deepEqual(
      comment.flatMap((job) => job.steps.flatMap(({ uses }) => (uses === undefined ? [] : [uses.split("@")[0]]))),
      ["actions/download-artifact"],
    );
  });

  it("give a token of the cloud only behind an environment", () => {
    const holders = jobs.filter((job) => job.permissions?.["id-token"] === "write");
    assert.deepEqual(holders.map(({ at, environment }) => `${at}: ${environment}`).sort(), [
      `deploy.yml up: \${{ matrix.stack }}`,
      `drift.yml drift: drift-\${{ matrix.stack }}`,
      "preview.yml account-preview: preview",
    ]);
  });

  it("put no text of an event into a script, where it would run", () => {
    for (const { at, run } of steps) assert.doesNotMatch(run ?? "", /\$\{\{/, at);
  });

  it("pin what others publish by commit, and keep no token in the clone", () => {
    for (const { at, uses = "actions/none@v1", with: inputs } of steps) {
      const [action = "", version = ""] = uses.split("@");
      assert.match(version, action.startsWith("actions/") ? /^v\d+$/ : /^[0-9a-f]{40}$/, `${at} ${uses}`);
      if (action === "actions/checkout") assert.ok(JSON.stringify(inputs).includes(`"persist-credentials":false`), at);
    }
  });

  describe("by actionlint", () => {
    const scratch = mkdtempSync(path.join(tmpdir(), "fenestra-actionlint-"));
    after(() => rmSync(scratch, { recursive: true }));
    const lint = (...files: readonly string[]) =>
      spawnSync("go", ["run", "-C", tool, "github.com/rhysd/actionlint/cmd/actionlint", "-no-color", ...files], {
        encoding: "utf8",
      });

    before(function () {
      if (spawnSync("go", ["version"]).status === 0) return;
      assert.notEqual(process.env.CI, "true", "Go is missing, and CI needs it for actionlint");
      console.log("      skipped: actionlint is a Go program, and Go is not on PATH");
      this.skip();
    });

    it("are right", function () {
      // The first time it is built.
      this.timeout(600_000);
      const { status, stdout, stderr } = lint(...Object.keys(texts).map((file) => path.join(folder, file)));
      assert.equal(status, 0, `${stdout}${stderr}`);
    });

    it("would not be with a mistake in them", function () {
      this.timeout(600_000);
      const file = path.join(scratch, "wrong.yml");

      writeFileSync(file, (texts["test.yml"] ?? "").replace("runs-on: ubuntu-24.04", "runs-no: ubuntu-24.04"));
      const { status, stdout } = lint(file);
      assert.notEqual(status, 0);
      assert.match(stdout, /"runs-on" section is missing|unexpected key "runs-no"/);
    });
  });
});
