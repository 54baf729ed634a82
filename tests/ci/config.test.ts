import assert from "node:assert/strict";
import { loadConfig } from "../../components/config/load.ts";
import { requireControllerRoles, rolesOf } from "../../examples/ci/azureRoles.ts";
import { CiConfigError, ciStackOf, loadCiConfig, overlapping } from "../../examples/ci/config.ts";
import { environmentName, subject } from "../../examples/ci/environments.ts";
import { stackConfig } from "../support/stacks.ts";

describe("the subject of a run", () => {
  it("names an environment, with the repository's numbers if it has them", () => {
    assert.equal(
      subject({ name: "octo-org/clusters" }, "preview-aws-dev"),
      "repo:octo-org/clusters:environment:preview-aws-dev",
    );
    const ids = { owner: "12", repository: "345" };
    assert.equal(
      subject({ name: "octo-org/clusters", ids }, "aws-prod"),
      "repo:octo-org@12/clusters@345:environment:aws-prod",
    );
  });

  it("has no second part of its name", () => {
    assert.equal(subject({ name: "o/r" }, "a:b"), "repo:o/r:environment:a%3Ab");
    assert.notEqual(environmentName("preview", "a"), environmentName("deploy", "a"));
  });
});

describe("the config of the setup", () => {
  const config = {
    "fenestra-ci:repository": "o/r",
    "fenestra-ci:stacks": `["aws-dev"]`,
    "fenestra-ci:stackDir": "stacks",
  };
  const refused = (over: Readonly<Record<string, string>>, ...messages: readonly RegExp[]) =>
    assert.throws(
      () => loadCiConfig({ ...config, ...over }),
      (error) => error instanceof CiConfigError && messages.every((message) => message.test(error.message)),
    );

  it("knows what a stack gives to pods", () => {
    const of = (stack: string) => ciStackOf(stack, loadConfig(stackConfig(stack))).pods;
    assert.deepEqual(of("azure-logs"), { issuer: undefined, rights: ["2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"] });
    const [condition = ""] = rolesOf("deploy", {
      pods: { issuer: undefined, rights: ["0000-1"] },
      network: undefined,
    }).flatMap((role) => role.condition ?? []);
    assert.equal(condition.split("0000-1").length, 3, "in both halves");
  });

  it("tells all mistakes at once", () => {
    refused(
      { "fenestra-ci:repository": "https://github.com/o/r", "fenestra-ci:stacks": "aws-dev", "fenestra-ci:more": "1" },
      /fenestra-ci:repository: allowed: OWNER\/NAME/,
      /fenestra-ci:stacks: allowed: a list of stacks/,
      /more/,
    );
    refused({ "fenestra-ci:stacks": `["aws-dev","azure-dev"]` }, /they lie in different places/);
  });

  it("knows clusters whose names the rights could not tell apart", () => {
    assert.deepEqual(overlapping(["aws-dev", "aws-prod", "aws-development"]), []);
    assert.deepEqual(overlapping(["aws", "aws-prod"]), ["aws"]);
    // Roles and states of this program begin with fenestra-ci- and fenestra-state-.
    const own = ["fenestra", "fenestra-ci", "fenestra-state", "fenestra-x"];
    assert.deepEqual(overlapping([...own, "fenestral"]), own);
  });

  it("refuses a stack that would write a role", () => {
    const { stacks } = loadCiConfig({ ...config, "fenestra-ci:stacks": `["azure-existing"]` });
    assert.throws(
      () => requireControllerRoles(stacks),
      /azure-existing makes a role .* network\.existing\.controllerRole .* uuidgen/,
    );
  });
});
