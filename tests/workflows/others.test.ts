import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { jobs, texts } from "./read.ts";

const read = (name: string): string =>
  readFileSync(new URL(`../../examples/pipelines/${name}`, import.meta.url), "utf8");
const job = z.looseObject({
  script: z.array(z.string()),
  environment: z.unknown().optional(),
  id_tokens: z.unknown().optional(),
  extends: z.string().optional(),
  before_script: z.array(z.string()).default([]),
});
const gitlab = z
  .looseObject({ stages: z.array(z.string()), plan: job, deploy: job, preview: job })
  .parse(parse(read("gitlab-ci.yml")));

const root = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");

/** Whether a line of a page is in a block of commands. */
const inBlock = (text: string, line: string): boolean =>
  (text.slice(0, text.indexOf(line)).match(/^ *```/gm) ?? []).length % 2 === 1;

describe("the pipelines for other hosts", () => {
  it("take one Pulumi CLI, of the SDK's version, as those of GitHub do", () => {
    const version = root(".pulumi.version").trim();
    assert.equal(/"@pulumi\/pulumi": "(.+)"/.exec(root("package.json"))?.[1], version);
    assert.ok(read("gitlab-ci.yml").includes(`image: pulumi/pulumi-nodejs:${version}\n`));
    assert.match(
      read("azure-pipelines.yml"),
      /get\.pulumi\.com \| sh -s -- --version "\$\(cat .*\.pulumi\.version"\)"/,
    );
    for (const name of readdirSync(new URL("../../.github/workflows", import.meta.url)))
      for (const [, next = ""] of root(`.github/workflows/${name}`).matchAll(/uses: pulumi\/actions@.*\n.*\n(.*)/g))
        assert.match(next, /pulumi-version-file: .*\.pulumi\.version$/, name);
  });

  it("name no stack and hold no secret", () => {
    for (const text of [read("gitlab-ci.yml"), read("azure-pipelines.yml")])
      assert.doesNotMatch(text, /(aws|azure)-(dev|prod)|password|secret:|PULUMI_ACCESS_TOKEN/i);
  });

  it("plan without a token, and update from the default branch behind an environment alone", () => {
    assert.equal(gitlab.plan.id_tokens, undefined);
    assert.equal(gitlab.plan.environment, undefined);
    assert.ok(gitlab.plan.script.some((line) => line.startsWith("$PROGRAM/cli/fenestra changes --since ")));
    assert.ok(gitlab.deploy.environment !== undefined && gitlab.preview.id_tokens !== undefined);
    assert.equal(gitlab.deploy.extends, "preview");
    const azure = z
      .looseObject({ stages: z.array(z.record(z.string(), z.unknown())) })
      .parse(parse(read("azure-pipelines.yml")));
    const [plan, ...others] = azure.stages;
    assert.doesNotMatch(JSON.stringify(plan), /azureSubscription|environment/);
    assert.match(JSON.stringify(others), /"environment":.*"azureSubscription":/);
    assert.match(JSON.stringify(others), /refs\/heads\/main/);
    assert.doesNotMatch(JSON.stringify(others), /npm ci (?![^}]*--ignore-scripts)/);
  });

  it("of every host run one script, on the newest commit, with the plug-ins before they sign in", () => {
    const update = /update\.sh"? (head|plugins|preview|up|"\$MODE")/g;
    const order = (text: string) => [...text.matchAll(update)].map(([, word]) => word);
    const github = jobs.flatMap(({ at, steps }) => {
      const run = steps.map((step) => (/login|configure-aws/.test(step.uses ?? "") ? "sign in" : (step.run ?? "")));
      return run.some((script) => order(script).length > 0)
        ? [[at, run.flatMap((script) => (script === "sign in" ? [script] : order(script)))]]
        : [];
    });
    assert.deepEqual(Object.fromEntries(github), {
      "deploy.yml look": ["head", "plugins", "sign in", "sign in", "preview"],
      // The token for Azure's state is that job's own.
      "deploy.yml up": ["head", "plugins", "sign in", "up"],
      "drift.yml drift": ["plugins", "sign in", "sign in"],
      "preview.yml account-preview": ["plugins", "sign in", "sign in"],
    });
    assert.deepEqual(order(read("gitlab-ci.yml")), ["head", "plugins", "preview", "up"]);
    assert.deepEqual(order(read("azure-pipelines.yml")), ["head", "plugins", '"$MODE"']);
    assert.ok(
      read("azure-pipelines.yml").indexOf("update.sh plugins") < read("azure-pipelines.yml").indexOf("AzureCLI@2"),
    );
    // Nothing else updates.
    const others = [...Object.values(texts), read("gitlab-ci.yml"), read("azure-pipelines.yml")];
    for (const text of others) assert.doesNotMatch(text, /(?<!`)pulumi (up|refresh)\b|command: (up|refresh)/);
  });

  it("and pages save nothing in a preview, and everything in an update", () => {
    const files = spawnSync("git", ["ls-files"], { cwd: new URL("../..", import.meta.url), encoding: "utf8" });
    const places = files.stdout.split("\n").filter((file) => /^(?!tests\/).*\.(md|sh|ya?ml)$/.test(file));
    const calls = places.flatMap((file) => {
      const text = root(file);
      return [...text.matchAll(/^ *(.*)\b(pulumi|run) (preview|up|refresh|destroy)\b.*$|^ *command: preview$/gm)]
        .filter(([line = ""]) => !/^ *(#|.*`)/.test(line) && (!file.endsWith(".md") || inBlock(text, line)))
        .map(({ 0: line = "", index, 3: verb = "preview" }) => {
          const step = /command: preview/.test(line) ? text.slice(index, index + 300) : "";
          const exported = file.endsWith(".sh") && verb === "preview" ? text.slice(0, index) : "";
          return {
            at: `${file}: ${line.trim()}`,
            verb,
            quick: /PULUMI_SKIP_CHECKPOINTS[=:] ?"?true/.test(line + step + exported),
          };
        });
    });
    assert.ok(calls.filter(({ verb }) => verb === "preview").length >= 5, String(calls.length));
    for (const { at, verb, quick } of calls) assert.equal(quick, verb === "preview", at);
  });

  it("let an update take hours, and renew its login meanwhile", () => {
    // The token of GitLab lives as long as its job may take.
    assert.equal(gitlab.deploy.timeout, "6h");
    const azure = read("azure-pipelines.yml");
    assert.match(azure, /mode: up, .*minutes: "350"/);
    assert.match(azure, /^ +keepAzSessionActive: true$/m);
    // One token of ten minutes.
    assert.doesNotMatch(azure, /idToken|ARM_OIDC_TOKEN/);
  });
});
