import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";

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

describe("the pipelines for other hosts", () => {
  it("take one Pulumi CLI, of the SDK's version, as those of GitHub do", () => {
    const root = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
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
    assert.ok(gitlab.deploy.environment !== undefined && gitlab.deploy.id_tokens !== undefined);
    assert.deepEqual(
      [gitlab.preview.extends, gitlab.preview.script],
      ["deploy", ["$PROGRAM/ci/preview.sh preview.txt"]],
    );
    assert.ok(gitlab.deploy.before_script[0]?.includes(" --omit=dev --ignore-scripts "));
    const azure = z
      .looseObject({ jobs: z.array(z.record(z.string(), z.unknown())) })
      .parse(parse(read("azure-pipelines.yml")));
    const [plan, ...others] = azure.jobs;
    assert.doesNotMatch(JSON.stringify(plan), /azureSubscription|environment/);
    assert.match(JSON.stringify(others), /"environment":.*"azureSubscription":/);
    assert.match(JSON.stringify(others), /refs\/heads\/main/);
    assert.doesNotMatch(JSON.stringify(others), /npm ci (?![^}]*--ignore-scripts)/);
  });

  it("let an update take hours, and renew its login meanwhile", () => {
    // The token of GitLab lives as long as its job may take.
    assert.equal(gitlab.deploy.timeout, "6h");
    const azure = read("azure-pipelines.yml");
    assert.match(azure, /^ {8}timeoutInMinutes: "350"$/m);
    assert.match(azure, /^ +keepAzSessionActive: true$/m);
    // One token of ten minutes.
    assert.doesNotMatch(azure, /idToken|ARM_OIDC_TOKEN/);
  });
});
