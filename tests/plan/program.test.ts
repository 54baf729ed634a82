import assert from "node:assert/strict";
import path from "node:path";
import { inspect } from "node:util";
import { simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { OutputMode, SimulatedCloud } from "../../plan/program/engine.ts";
import { secretsInUserData } from "../../plan/program/leaks.ts";
import type { RecordedProgram, RecordedResource } from "../../plan/program/recorded.ts";
import { requireSameResources, runProgram, runProgramWithHooks, ShapeError } from "../../plan/program/runProgram.ts";
import { Secret, secretsIn, unknown } from "../../plan/program/values.ts";
import { requestFor } from "../support/recording.ts";

const place = { region: "eu-central-1", accountId: "123456789012" };

function run(
  program: string,
  mode: OutputMode,
  config: Readonly<Record<string, string>> = {},
): Promise<RecordedProgram> {
  return runProgram({ ...request(program, mode), config });
}

function request(program: string, mode: OutputMode) {
  const simulate: SimulatedCloud = simulatedCloud(place, "fake");
  const entry = path.join(import.meta.dirname, `programs/${program}.ts`);
  return { entry, project: "fenestra", stack: "test", config: {}, mode, simulate };
}

function named(program: RecordedProgram, name: string): RecordedResource {
  const found = program.resources.find((resource) => resource.name === name);
  assert.ok(found, `no resource ${name}`);
  return found;
}

const urn = (type: string, name: string): string => `urn:pulumi:test::fenestra::${type}::${name}`;

// That URNs, parents, options and dependencies are recorded as the engine sees them, the tests of both clouds show.
describe("a recorded run", () => {
  it("records hooks and runs none, and hands them out", async () => {
    const { program, hooks } = await runProgramWithHooks(request("small", "known-outputs"));
    assert.deepEqual(named(program, "gate").options.hooks, { beforeUpdate: ["wait"] });
    assert.deepEqual([...hooks.keys()], ["wait"]);
  });

  it("gives outputs to what depends on them, and in a first preview neither ids nor computed outputs", async () => {
    const of = async (mode: OutputMode) => named(await run("small", mode), "gate");
    assert.equal((await of("known-outputs")).inputs.input, "none");
    const { id, inputs } = await of("unknown-outputs");
    assert.deepEqual([id, inputs.input], [undefined, unknown]);
  });

  it("keeps secrets marked and out of everything that is printed", async () => {
    const program = await run("small", "known-outputs");
    const secrets = program.resources.flatMap(({ inputs, outputs }) => [inputs, outputs].flatMap(secretsIn));
    const values = secrets.map((secret) => secret.reveal());
    assert.ok(values.includes("hidden"));
    const password = named(program, "token").outputs.result;
    assert.ok(password instanceof Secret);
    assert.match(String(password.reveal()), /^[A-Za-z0-9]{16}$/);
    assert.equal(`${password} ${JSON.stringify([password])} ${inspect(password)}`, '[secret] ["[secret]"] [secret]');
    for (const printed of [JSON.stringify(program), inspect(program, { depth: 20, showHidden: true })])
      for (const value of values) if (typeof value === "string") assert.ok(!printed.includes(value));
  });

  it("refuses a time limit that the engine cannot parse", async () => {
    await assert.rejects(
      run("failing", "known-outputs", { "fenestra:how": "duration" }),
      /first: customTimeouts\.create is PT40M, which is no duration of Go's/,
    );
  });
});

describe("the shape of a program", () => {
  it("is refused by name when it is not", async () => {
    const preview = await run("shape", "unknown-outputs");
    const update = await run("shape", "known-outputs");
    assert.throws(
      () => requireSameResources(preview, update),
      (error) => {
        assert.ok(error instanceof ShapeError);
        assert.deepEqual(error.difference, {
          onlyUnknown: [],
          onlyKnown: ["random:index/randomString:RandomString second"],
        });
        assert.match(error.message, /only once outputs are known: {4}random:index\/randomString:RandomString second/);
        return true;
      },
    );
  });
});

describe("the search for secrets", () => {
  it("finds a secret packed into user data, and does not print it", async () => {
    const program = await run("leaking", "known-outputs");
    const leaks = secretsInUserData(program);
    assert.deepEqual(leaks, [{ resource: "machine", path: "keepers.userData", what: "the secret of token" }]);
    const token = named(program, "token").outputs.result;
    assert.ok(token instanceof Secret);
    assert.ok(!JSON.stringify(leaks).includes(String(token.reveal())));
  });

  const withInput = (text: string): RecordedProgram => ({
    stack: "test",
    outputs: {},
    messages: [],
    resources: [
      {
        ...requestFor("a:b:C", "machine", { userData: text, list: [{ inner: text }] }),
        urn: urn("a:b:C", "machine"),
        id: "x",
        outputs: {},
      },
    ],
  });
  it("does not take settings for secrets because one of them is", () => {
    const outputs = { config: new Secret({ region: "eu-central-1-long" }), other: new Secret("a-secret-of-the-stack") };
    const { resources, ...program } = withInput("eu-central-1-long, a-secret-of-the-stack");
    const stack = { ...requestFor("pulumi:pulumi:Stack", "s", {}), urn: "u", id: undefined, outputs };
    const told = secretsInUserData({ ...program, resources: [...resources, stack] }).map(({ what }) => what);
    assert.deepEqual([...new Set(told)], ["the secret of s"]);
    assert.deepEqual(
      secretsInUserData({
        ...withInput("eu-central-1-long"),
        resources: [...withInput("eu-central-1-long").resources, stack],
      }),
      [],
    );
  });

  const cases: readonly (readonly [what: string, text: string])[] = [
    ["a private key", "x\n-----BEGIN EC PRIVATE KEY-----\nMHcC\n"],
    ["a private key", "-----BEGIN PRIVATE KEY-----"],
    ["a private key", "-----BEGIN ENCRYPTED PRIVATE KEY-----"],
    ["a bootstrap token", "token: abc123.0123456789abcdef"],
    ["an AWS access key", "AKIAIOSFODNN7EXAMPLE"],
  ];
  for (const [what, text] of cases)
    it(`knows ${what} by its form: ${JSON.stringify(text.slice(0, 30))}`, () => {
      assert.deepEqual(secretsInUserData(withInput(text)), [
        { resource: "machine", path: "userData", what },
        { resource: "machine", path: "list[0].inner", what },
      ]);
    });
});
