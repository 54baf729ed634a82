import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DiffKind } from "@pulumi/pulumi/automation/index.js";
import { stringify } from "yaml";
import { forgetKey, lookLines, untilReleased } from "../../cli/down.ts";
import { operationsOf, withTriggersOf } from "../../cli/up/engine.ts";
import { digests, withoutSecrets } from "../../cli/up/evidence.ts";
import { ownPlace } from "../../cli/up/places.ts";
import { watchEngine } from "../../cli/up/progress.ts";
import { placeOfState } from "../../cli/up/session.ts";
import { Declined, quoted, runSteps, type Step, type StepRecord } from "../../cli/up/steps.ts";
import { counted, difference, refuseLostKubeconfig } from "../../cli/up.ts";
import { suiteFolder } from "../support/suite.ts";

const up = path.join(import.meta.dirname, "../../cli/up.ts");

describe("the steps of up and down", () => {
  const folder = suiteFolder();

  /** Runs three steps of which the second behaves as told; returns what was done, said and recorded. */
  async function ran(second: Partial<Step>, interruptIn?: string) {
    const [done, said, records]: [string[], string[], StepRecord[]] = [[], [], []];
    const controller = new AbortController();
    const step = (id: string, more: Partial<Step> = {}): Step => ({
      id,
      title: `Do ${id}`,
      byHand: [`make ${id}`],
      run: async () => {
        done.push(id);
        if (interruptIn === id) controller.abort();
        return undefined;
      },
      ...more,
    });
    const tools = {
      out: (text: string) => said.push(text),
      signal: controller.signal,
      record: (each: StepRecord) => records.push(each),
    };
    const ended = await runSteps([step("a"), step("b", second), step("c")], tools).then(
      () => "",
      (error: Error) => `${error.name} ${error.message}`.trim(),
    );
    return {
      done: done.join(" "),
      said: said.join(""),
      ended,
      outcomes: records.map(({ outcome }) => outcome).join(", "),
    };
  }

  it("end before they begin where another cluster's kubeconfig would be lost", () => {
    const file = path.join(folder, "kubeconfig");
    const check = (...clusters: string[]) => {
      const named = (more: object) => clusters.map((name) => ({ name, ...more }));
      const contexts = clusters.map((cluster) => ({ name: cluster, context: { cluster, user: "admin" } }));
      const whole = {
        clusters: named({ cluster: { server: "https://x" } }),
        users: [{ name: "admin", user: {} }],
        contexts,
      };
      writeFileSync(file, stringify(whole));
      refuseLostKubeconfig("demo", file);
    };
    check("demo");
    for (const others of [["demo", "prod"], ["prod"]])
      assert.throws(() => check(...others), /not the kubeconfig of demo alone/);
    assert.throws(() => refuseLostKubeconfig("demo", "/dev/null"), /\/dev\/null cannot be read: it is no plain file/);
    check("demo");
    for (const odd of [
      readFileSync(file, "utf8").replace("clusters:", "clusters:\n  - { name: prod, cluster: { server: https://y } }"),
      "a: [",
    ]) {
      writeFileSync(file, odd);
      assert.throws(() => refuseLostKubeconfig("demo", file), /not the kubeconfig of demo alone/);
    }
  });

  it("leave the kubeconfig of before where the next cannot be written whole", () => {
    const file = path.join(folder, "kept");
    writeFileSync(file, "of before");
    const write = (size: number) => {
      const program = `(await import("${up}")).writeKubeconfig("${file}", "x".repeat(${size}))`;
      // A file of at most a KiB, as on a disk that gets full.
      const limited = 'ulimit -f 1; exec "$0" --input-type=module --eval "$1"';
      return spawnSync("bash", ["-c", limited, process.execPath, program], { encoding: "utf8" });
    };
    assert.match(write(5_000).stderr, /EFBIG/);
    assert.equal(readFileSync(file, "utf8"), "of before");
    assert.equal(write(500).status, 0);
    assert.deepEqual([readFileSync(file, "utf8"), statSync(file).mode & 0o777], ["x".repeat(500), 0o600]);
  });

  it("leave what replaces a machine as it was, though the engine's refresh takes the program's", () => {
    const state = (id: string, trigger?: string, more: object = {}) => ({
      version: 3,
      deployment: { resources: [{ urn: "a", id, replacementTrigger: trigger, ...more }, { urn: "b" }] },
    });
    const kept = (before?: string, more?: object) =>
      withTriggersOf(state("1", before), state("2", "new", more)).deployment.resources?.[0];
    assert.deepEqual(kept("old"), { urn: "a", id: "2", replacementTrigger: "old" });
    assert.deepEqual(kept(), { urn: "a", id: "2" });
    assert.deepEqual(kept("old", { delete: true }), { urn: "a", id: "2", replacementTrigger: "new", delete: true });
  });

  it("are printed as commands, and left out where they are done", async () => {
    const { done, said, outcomes } = await ran({ isDone: async () => true });
    assert.deepEqual([done, outcomes], ["a c", "done, done already, done"]);
    assert.equal(
      said,
      "\n[1/3] Do a\n  $ make a\n\n[2/3] Do b\n  $ make b\n  done already\n\n[3/3] Do c\n  $ make c\n",
    );
  });

  it("end at what fails, at a no, and at Ctrl-C before the next", async () => {
    const no = { done: "a", outcomes: "done" };
    const failing = (error: Error): Partial<Step> => ({ run: () => Promise.reject(error) });
    const [failed, declined, interrupted] = [
      await ran(failing(new Error("no login"))),
      await ran(failing(new Declined())),
      await ran({}, "a"),
    ];
    assert.deepEqual([failed.done, failed.ended, failed.outcomes], ["a", "StepFailed Do b: no login", "done, failed"]);
    assert.deepEqual([declined.done, declined.ended, declined.outcomes], [no.done, "Declined", no.outcomes]);
    assert.deepEqual(
      [interrupted.done, interrupted.ended, interrupted.outcomes],
      [no.done, "AbortError This operation was aborted", no.outcomes],
    );
  });

  it("put the state where its page wants it, and quote what a shell would read", async () => {
    const aws = ownPlace({ cloud: "aws", region: "us-east-1", account: "210987654321" });
    const azure = ownPlace({ cloud: "azure", region: "westeurope", account: "21098765-4321-4321-8321-210987654321" });
    for (const [{ things }, wanted] of [
      [aws, /^(?!.*LocationConstraint).*put-bucket-versioning .*Status=Enabled/s],
      [aws, /BlockPublicAcls=true,IgnorePublicAcls=true,BlockPublicPolicy=true,RestrictPublicBuckets=true/],
      [aws, /create-alias/],
      [azure, /--allow-blob-public-access false --allow-shared-key-access false/],
      [azure, /--enable-versioning true/],
      [azure, /--enable-rbac-authorization true/],
      [azure, /key create/],
    ] as const)
      assert.match(things.flatMap(({ make }) => make).join("\n"), wanted);
    const [, name = ""] = /storage_account=(.*)/.exec(azure.backend) ?? [];
    assert.match(name, /^[a-z0-9]{3,24}$/);
    assert.equal(quoted("it's"), `'it'\\''s'`);
    for (const line of lookLines({ name: "x", cloud: "aws", region: "eu-central-1" }))
      assert.match(line, /--region eu-central-1/);
    // Users choose tables.
    for (const line of [aws, azure].flatMap(({ things }) => things.map(({ look }) => look)))
      assert.equal(line.match(/--output/g)?.length, line.match(/--query|\bexists --name f/g)?.length, line);
  });

  it("refuse a passphrase, and take a place that is named", async () => {
    const question = {
      cloud: "aws",
      region: "eu-central-1",
      accountId: undefined,
      project: { name: "x", requiredPulumiVersion: "" },
      env: { PULUMI_BACKEND_URL: "s3://own" },
      signal: new AbortController().signal,
    } as const;
    await assert.rejects(
      placeOfState({ ...question, secrets: {}, passphrase: true }),
      /hang on a passphrase .*change-secrets-provider/,
    );
    const { backend, provider, things } = await placeOfState({
      ...question,
      secrets: { secretsprovider: "awskms://k" },
      passphrase: false,
    });
    assert.deepEqual([backend, provider, things], ["s3://own", { value: "awskms://k" }, []]);
  });

  it("compare what is done, to what and why, as the pipelines do", () => {
    const urn = "urn:pulumi:s::fenestra::aws:ec2/vpc:Vpc::x";
    const steps = [
      { op: "update", urn, detailedDiff: { "tags.a": { diffKind: DiffKind.update, inputDiff: true } } },
      { op: "replace", urn, keys: ["cidrBlock"] },
      ...(["same", "read", "refresh"] as const).map((op) => ({ op, urn })),
      { op: "update", urn: "urn:pulumi:s::fenestra::pulumi:providers:aws::x" },
    ] as const;
    assert.deepEqual(operationsOf(steps), [`replace ${urn} cidrBlock`, `update ${urn} tags.a update`]);
    assert.equal(counted(operationsOf(steps)), "1 replace, 1 update");
    assert.deepEqual(difference(["a", "b"], ["b", "c"]), ["< a", "> c"]);
    assert.deepEqual(difference(["a", "b"], ["b", "a"]), []);
  });

  it("tell what the engine waits for, and nothing that it says for debugging", () => {
    const [lines, clock]: [string[], { now: number }] = [[], { now: 0 }];
    const watch = watchEngine(
      (line) => lines.push(line),
      () => clock.now * 1000,
      7,
    );
    const metadata = (type: string, name: string) =>
      ({ op: "create", urn: `urn:pulumi:s::p::${type}::${name}`, type, provider: "" }) as const;
    const send = (event: object) => watch.event({ sequence: 0, timestamp: 0, ...event });
    const said = (severity: string, message: string) => send({ diagnosticEvent: { severity, message, color: "" } });
    const [gate, vpc] = [metadata("pulumi:index:Stash", "c-api"), metadata("aws:ec2/vpc:Vpc", "net")];
    for (const each of [gate, vpc, metadata("fenestra:aws:Network", "n")])
      send({ resourcePreEvent: { metadata: each } });
    said("debug", "password hunter2");
    said("info", "<{%reset%}>waiting for the API: 503<{%reset%}>");
    clock.now = 40;
    watch.tick();
    send({ resOutputsEvent: { metadata: vpc } });
    send({ resOpFailedEvent: { metadata: gate } });
    said("error", "not ready");
    // What a node says of a pod.
    said("warning", "\u001b[2J##vso[task.prependpath]/x\n::stop-commands::y");
    assert.deepEqual(lines, [
      "create gate c-api",
      "waiting for the API: 503",
      "0 of 7 done; at work: create gate c-api, 40 s; create Vpc net, 40 s",
      "create Vpc net: done after 40 s",
      "create gate c-api: failed after 40 s",
      "\u{FFFD}[2J# #vso[task.prependpath]/x\n: :stop-commands::y",
    ]);
    assert.deepEqual(watch.errors(), ["not ready"]);
  });

  it("give evidence with digests of user data, and without a secret in any field", () => {
    assert.deepEqual(
      Object.keys(
        digests([
          { urn: "urn::t::m", inputs: { userData: "x" } },
          { urn: "urn::t::n", inputs: { virtualMachineProfile: { osProfile: { customData: "y" } } } },
          { urn: "urn::t::o", inputs: { a: "x" } },
        ]),
      ),
      ["m", "n"],
    );
    const secrets = [
      "-----BEGIN PRIVATE KEY-----\nhunter2hunter2\n-----END PRIVATE KEY-----",
      "abcde1.hunter2hunter2aa",
      "AKIAHUNTER2HUNTER2AA",
      "eyJhdW50ZXIyMzQ1.eyJhdW50ZXIyMzQ1.hunter2hunter2hunter2hunter2",
      "hunter2 of the kubeconfig",
    ];
    const leaf = (text: string) => ({
      steps: [{ reason: `it said ${text}.` }],
      [`key ${text}`]: 1,
      nodes: [{ conditions: [{ message: text, at: 1 }] }],
    });
    for (const secret of secrets) {
      const shown = JSON.stringify(withoutSecrets(leaf(secret), ["hunter2 of the kubeconfig"]));
      assert.doesNotMatch(shown, /hunter2/i, secret);
      assert.match(shown, /it said \[/);
    }
    assert.deepEqual(withoutSecrets({ password: "x", at: new Date(0), n: 1 }, []), {
      ...{ password: "[not shown]", at: "1970-01-01T00:00:00.000Z", n: 1 },
    });
  });

  it("destroy again while Azure holds a failed machine's interface, six times at most, and nothing else that fails", async () => {
    const held = new Error("aks-0-address: Code=NicReservedForAnotherVm Message=reserved for 180 seconds");
    const ran = async (...failures: readonly (Error | undefined)[]) => {
      const [left, said]: [(Error | undefined)[], string[]] = [[...failures], []];
      let pauses = 0;
      const destroy = async () => {
        const failure = left.length > 1 ? left.shift() : left[0];
        if (failure !== undefined) throw failure;
      };
      const ended = await untilReleased(
        destroy,
        (text) => said.push(text),
        async () => (pauses += 1),
      ).then(
        () => "done",
        ({ message }: Error) => message,
      );
      assert.equal(said.length, pauses);
      return [ended, pauses];
    };
    assert.deepEqual(await ran(held, held, undefined), ["done", 2]);
    assert.deepEqual(await ran(held), [held.message, 5]);
    assert.deepEqual(await ran(held, new Error("no"), undefined), ["no", 1]);
  });

  it("leave the key in a stack file that has values encrypted with it", () => {
    const file = path.join(folder, "Pulumi.x.yaml");
    const [head, plain] = ["secretsprovider: awskms://k\nencryptedkey: abc\n", "# Mine.\nconfig:\n  a:b: c\n"];
    for (const [text, left] of [
      [head + plain, plain],
      [`${head}config:\n  a:b:\n    secure: x\n`, `${head}config:\n  a:b:\n    secure: x\n`],
    ] as const) {
      writeFileSync(file, text);
      forgetKey(file);
      assert.equal(readFileSync(file, "utf8"), left);
    }
  });
});
