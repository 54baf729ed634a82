import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Context } from "mocha";
import { parse } from "yaml";
import { z } from "zod";
import { environmentName } from "../../ci/environments.ts";
import { goRun } from "../support/skip.ts";
import { suiteFolder } from "../support/temporary.ts";
import { folder, jobs, setupText, steps, texts, workflows } from "./read.ts";

describe("the workflows", () => {
  it("never run a branch's code with a secret at hand", () => {
    for (const { file, on } of workflows) assert.ok(!("pull_request_target" in on), file);
    assert.ok(Object.values(texts).every((text) => !text.includes("secrets.")));
  });

  it("may do no more than each of them needs", () => {
    const permissions = Object.fromEntries(
      jobs.map(({ at, permissions, inherited }) => [at, permissions ?? inherited]),
    );
    assert.deepEqual(permissions, {
      "deploy.yml changed": { actions: "read" },
      "deploy.yml look": { contents: "read", "id-token": "write" },
      "deploy.yml stacks": { contents: "read" },
      "deploy.yml up": { contents: "read", "id-token": "write" },
      "drift.yml drift": { contents: "read", "id-token": "write" },
      "drift.yml stacks": { contents: "read" },
      "drift.yml report": { actions: "read", issues: "write" },
      "night.yml engine": { contents: "read" },
      "night.yml step": { contents: "read" },
      "night.yml steps": { contents: "read" },
      "patches.yml look": { contents: "read" },
      "patches.yml rehearse": { contents: "read" },
      "patches.yml propose": { contents: "write", "pull-requests": "write" },
      "preview-comment.yml comment": { actions: "read", contents: "read", "pull-requests": "write" },
      "preview.yml account-preview": { contents: "read", "id-token": "write", "pull-requests": "write" },
      "preview.yml plan": { contents: "read" },
      "release.yml build": { contents: "read" },
      "release.yml publish": { contents: "write" },
      "test.yml boot": { contents: "read" },
      "test.yml fast": { contents: "read" },
      "test.yml powershell": { contents: "read" },
      "test.yml slow": { contents: "read" },
    });
  });

  it("give a token of the cloud only behind an environment, whose name the trust in the cloud knows", () => {
    const holders = jobs.filter(({ permissions }) => permissions?.["id-token"] === "write");
    const stack = `\${{ matrix.stack }}`;
    const environments = Object.fromEntries(holders.map(({ at, environment }) => [at, environment]));
    assert.deepEqual(environments, {
      "deploy.yml look": environmentName("drift", stack),
      "deploy.yml up": environmentName("deploy", stack),
      "drift.yml drift": environmentName("drift", stack),
      "preview.yml account-preview": environmentName("preview", stack),
    });
  });

  it("run with rights for branches of the repository only, and change the cloud from main only", () => {
    const conditions = Object.fromEntries(jobs.map(({ at, if: condition }) => [at, condition ?? ""]));
    const own = "github.event.pull_request.head.repo.full_name == github.repository";
    assert.ok(
      conditions["preview.yml account-preview"]?.includes(`!cancelled() && vars.PREVIEW == 'true' && ${own} &&`),
    );
    for (const job of ["deploy.yml look", "deploy.yml up", "drift.yml drift"])
      assert.ok(conditions[job]?.startsWith(`\${{ vars.DEPLOY == 'true' && github.ref == 'refs/heads/main' && `), job);
  });

  it("with rights take nothing from a cache that a branch may have filled", () => {
    for (const { at, uses = "", with: inputs } of steps.filter(({ writes }) => writes)) {
      assert.doesNotMatch(uses, /^actions\/cache/, at);
      if (uses.startsWith("actions/setup-node")) assert.equal(inputs?.["package-manager-cache"], false, at);
      assert.equal(inputs?.cache, undefined, at);
    }
  });

  it("with rights install what the program imports, and run no package's script", () => {
    const installs = steps.filter(({ writes, run = "" }) => writes && /\bnpm\b/.test(run));
    const commands = [...new Set(installs.map(({ run }) => run))];
    assert.deepEqual(commands, ['npm ci --prefix "$PROGRAM" --omit=dev --ignore-scripts --no-audit --no-fund']);
    assert.equal(installs.length, 4);
  });

  it("name no stack: the folder stacks does", () => {
    for (const [file, text] of Object.entries(texts).filter(
      ([file]) => !["night.yml", "test.yml", "release.yml"].includes(file),
    ))
      assert.doesNotMatch(text, /(aws|azure)-(dev|prod|restricted)/, file);
    for (const [at, from] of Object.entries({
      "deploy.yml look": "stacks",
      "deploy.yml up": "changed",
      "drift.yml drift": "stacks",
    }))
      assert.equal(
        jobs.find((job) => job.at === at)?.strategy?.matrix.stack,
        `\${{ fromJSON(needs.${from}.outputs.stacks) }}`,
      );
  });

  it("that repositories call run the program where the caller has it", () => {
    const called = workflows.filter(({ on }) => "workflow_call" in on).map(({ file }) => file);
    assert.equal(called.length, 5);
    for (const file of called) assert.doesNotMatch(texts[file] ?? "", /(?<![\w/])(cli|ci)\//, file);
  });

  it("put no text of an event into a script, where it would run", () => {
    assert.ok(steps.some(({ run }) => run !== undefined));
    for (const { at, run } of steps) assert.doesNotMatch(run ?? "", /\$\{\{/, at);
    // The shared setup has expressions in its cache's key alone.
    assert.deepEqual(setupText.match(/^.*?\$\{\{/gm), [`        key: programs-\${{`]);
  });

  it("of tests end within half an hour, and take nothing for skipped", () => {
    for (const { file, env } of workflows)
      if (file === "test.yml" || file === "night.yml") assert.deepEqual(env, { STRICT: "1" }, file);
    for (const { at, "timeout-minutes": minutes } of jobs)
      if (/^(test|night)\.yml /.test(at)) assert.ok(minutes <= 30, at);
  });

  it("with a token that writes run nothing that a branch made: the default branch's checkout, and the artifact beside it", () => {
    const comment = steps.filter(({ at }) => at === "preview-comment.yml comment");
    const actions = comment.flatMap(({ uses }) => (uses === undefined ? [] : [uses.split("@")[0]]));
    assert.deepEqual(actions, ["actions/checkout", "actions/setup-node", "actions/download-artifact"]);
    // Without a ref the checkout of a workflow_run is the default branch.
    assert.deepEqual(comment[0]?.with, { submodules: true, "persist-credentials": false });
    assert.equal(comment[2]?.with?.path, `\${{ runner.temp }}/changes`);
    assert.equal(comment[2]?.with?.name, "changes");
    assert.doesNotMatch(comment[3]?.run ?? "", /\bnpm\b|\bnpx\b|\beval\b/);
  });

  it("that propose patch releases run no package and no program of the change with their token", () => {
    const propose = steps.filter(({ at }) => at === "patches.yml propose");
    const actions = propose.flatMap(({ uses }) => (uses === undefined ? [] : [uses.split("@")[0]]));
    assert.deepEqual(actions, ["actions/checkout", "actions/download-artifact"]);
    for (const { run } of propose) assert.doesNotMatch(run ?? "", /\b(npm|npx|node|eval)\b|cli\//);
  });

  it("pin every action by commit, with its version beside it, and keep no token in the clone", () => {
    const lines = Object.entries({ ...texts, setup: setupText }).flatMap(([file, text]) =>
      text.split("\n").flatMap((line) => (/^\s*(- )?uses: (?!\.\/)/.test(line) ? [{ file, line }] : [])),
    );
    assert.ok(lines.length > 20);
    for (const { file, line } of lines)
      assert.match(line, /uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, `${file}: ${line}`);
    const pins = new Map<string, string>();
    for (const { line } of lines) {
      const [, action = "", pin = ""] = /uses: ([^@]+)@(.+)$/.exec(line) ?? [];
      assert.equal(pins.get(action) ?? pin, pin, `${action} is pinned twice`);
      pins.set(action, pin);
    }
    const checkouts = steps.filter(({ uses = "" }) => uses.startsWith("actions/checkout@"));
    for (const { at, with: inputs } of checkouts) assert.equal(inputs?.["persist-credentials"], false, at);
  });

  it("have pins that Dependabot keeps current", () => {
    const file = readFileSync(path.join(folder, "../dependabot.yml"), "utf8");
    const updates = z
      .object({ version: z.literal(2), updates: z.array(z.looseObject({ "package-ecosystem": z.string() })) })
      .parse(parse(file));
    const ecosystems = updates.updates.map((each) => each["package-ecosystem"]);
    assert.deepEqual(ecosystems, ["github-actions", "npm", "gomod", "pip"]);
  });

  describe("by actionlint", () => {
    const scratch = suiteFolder();
    const lint = (test: Context, ...files: readonly string[]) =>
      goRun(test, "tools/readers", "github.com/rhysd/actionlint/cmd/actionlint", [
        "-no-color",
        // GitHub says it of a job since 2026; actionlint 1.7 does not know it.
        ...["-ignore", 'property "workflow_sha" is not defined'],
        ...files,
      ]);

    it("are right", function () {
      const files = readdirSync(folder).map((file) => path.join(folder, file));
      const { status, stdout, stderr } = lint(this, ...files);
      assert.equal(status, 0, `${stdout}${stderr}`);
    });

    it("would not be with a mistake in them", function () {
      const file = path.join(scratch, "wrong.yml");
      const wrong = (from: string, to: string) => {
        const text = texts["test.yml"] ?? "";
        assert.ok(text.includes(from));
        writeFileSync(file, text.replace(from, to));
        const { status, stdout } = lint(this, file);
        assert.notEqual(status, 0);
        return stdout;
      };
      assert.match(wrong("runs-on: ubuntu-24.04", "runs-no: ubuntu-24.04"), /"runs-on" section is missing|"runs-no"/);
      assert.match(
        wrong("run: make test\n", `run: echo \${{ github.event.pull_request.title }}\n`),
        /"github.event.pull_request.title" is potentially untrusted/,
      );
    });
  });
});
