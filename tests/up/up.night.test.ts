// Sees what nothing faster does: `up` and `down` by Pulumi's own CLI, interrupted, repeated and updated.
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { readStackFile } from "../../components/config/stackFile.ts";
import { defaultRelease, minorOf } from "../../components/model/releases.ts";
import { obtainPrograms } from "../../rehearsal/programs/obtain.ts";
import { buildPulumi, obtainOrSkip, pulumiVersion } from "../support/skip.ts";
import { suiteFolder } from "../support/suite.ts";
import { makeWorld, planted, type World } from "./world.ts";

const lines = z.array(z.string());
/** In the place of what is planted. */
const hidden = "[an AWS access key]";
const evidenceShape = z.looseObject({
  steps: z.array(
    z.looseObject({ id: z.string(), outcome: z.string(), seconds: z.number(), reason: z.string().optional() }),
  ),
  timeline: lines,
  machines: z.record(z.string(), lines),
  userData: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
  cluster: z.unknown(),
});

/** In the world both are a folder. */
const backends = { aws: "s3://state", azure: "azblob://state" } as const;

const clouds = { aws: "210987654321", azure: "21098765-4321-4321-8321-210987654321" } as const;

/** The smallest stack of a cloud, with the release of the programs at hand. */
function smallest(cloud: keyof typeof clouds, version: string): Readonly<Record<string, string>> {
  return {
    ...readStackFile("aws-smallest", pathToFileURL(path.join(import.meta.dirname, "../../examples/stacks/"))),
    "fenestra:kubernetes": JSON.stringify({ version }),
    "fenestra:cloud": cloud,
    "fenestra:name": `${cloud}-smallest`,
    "fenestra:accountId": clouds[cloud],
    ...(cloud !== "aws" && { "fenestra:region": "westeurope", "fenestra:network": '{"zones":["1"]}' }),
    "fenestra:access": JSON.stringify({ public: { allow: ["198.18.113.0/24"] } }),
  };
}

/** An Event whose message has a secret. */
const eventWith = (secret: string): object => ({
  ...{ apiVersion: "v1", kind: "Event", metadata: { name: "planted", namespace: "default" } },
  ...{ involvedObject: { kind: "Pod", namespace: "default", name: "p" }, reason: "Pulled", message: `with ${secret}` },
});

/** What Ctrl-C is pressed at, in the order of the steps. */
const moments = [
  /\[3\/\d+\] State/,
  /The stack, with that key/,
  /What an update would do/,
  /waiting for the Kubernetes API/,
  /An administrator's kubeconfig/,
];

describe(`a cluster from an account and back, by Pulumi's CLI ${pulumiVersion} as it is built from its module`, function () {
  this.timeout(1_800_000);
  const folder = suiteFolder();
  const pulumi = path.join(folder, "pulumi");
  let release = "";
  before(async function () {
    buildPulumi(this, pulumi);
    const wanted = { minor: minorOf(defaultRelease) };
    release = (await obtainOrSkip(this, (progress) => obtainPrograms({ progress, wanted })))["kube-apiserver"].version;
  });

  for (const cloud of ["aws", "azure"] as const)
    describe(`on ${cloud}`, () => {
      const stack = `${cloud}-smallest`;
      const file = (name: string) => path.join(folder, cloud, "project", name);
      let world: World;
      before(async () => {
        world = await makeWorld(path.join(folder, cloud), pulumi, stack, smallest(cloud, release));
      });
      after(() => world?.close());
      const up = (options?: Parameters<World["fenestra"]>[1], ...more: readonly string[]) =>
        world.fenestra(["up", "--stack", stack, "--yes", "--skip-verify", ...more], options);

      /** What a run has left for others to judge, without any secret. */
      const evidence = (name: string): z.output<typeof evidenceShape> => {
        const text = readFileSync(file(name), "utf8");
        const [, key = ""] = /client-key-data: "?([^"\s]+)/.exec(readFileSync(file("kubeconfig"), "utf8")) ?? [];
        assert.ok(key.length > 100);
        for (const secret of [planted, key, "PRIVATE KEY"]) assert.ok(!text.includes(secret), secret);
        return evidenceShape.parse(JSON.parse(text));
      };

      it("is not begun where nobody can answer", async () => {
        const { code, output } = await world.fenestra(["up", "--stack", stack]);
        assert.deepEqual([code, output.split(";")[1]?.trim(), world.calls()], [2, "allowed: a terminal, or --yes", []]);
      });

      it("goes on after Ctrl-C at each step", async () => {
        for (const interruptAt of moments) {
          const { code, output } = await up({ interruptAt });
          assert.deepEqual(
            [code, output.endsWith(`fenestra up --stack ${stack} goes on from here\n`)],
            [130, true],
            output,
          );
        }
        const { code, output } = await up();
        assert.equal(code, 0, output);
        const nodes = await world.fenestra(["status", "--kubeconfig", "kubeconfig", "--json"]);
        assert.equal(nodes.code, 0, nodes.output);
        assert.equal(statSync(file("kubeconfig")).mode & 0o777, 0o600);
        assert.match(
          readFileSync(file(`stacks/Pulumi.${stack}.yaml`), "utf8"),
          /^secretsprovider: hashivault:.*\nencryptedkey: /m,
        );
        assert.doesNotMatch(output, /PRIVATE KEY|client-key-data/);
      });

      it("makes nothing twice, and changes nothing the second time", async () => {
        const [size, calls] = [world.size(), world.calls().length];
        const { code, output } = await up();
        assert.equal(code, 0, output);
        assert.match(output, /nothing would change/);
        assert.equal(world.size(), size);
        const made = world.calls().filter((call) => /create|put-|stack init/.test(call));
        assert.deepEqual(
          made.filter((call, index) => made.indexOf(call) !== index),
          [],
        );
        assert.deepEqual(
          world
            .calls()
            .slice(calls)
            .filter((call) => call.startsWith("up ")),
          [],
        );
      });

      it("ends at a gate that fails, with what it waited for, goes on, and ends at a check", async () => {
        const settings = parse(readFileSync(file(`stacks/Pulumi.${stack}.yaml`), "utf8"));
        settings.config["fenestra:kubernetes"] = { version: release, sizeTier: "medium" };
        writeFileSync(file(`stacks/Pulumi.${stack}.yaml`), stringify(settings));
        await world.ask("apply", { object: eventWith(planted) });
        world.mood.opened = true;
        const failed = await up({}, "--evidence", "failed.json");
        assert.equal(failed.code, 1, failed.output);
        const [gate] = evidence("failed.json").steps.filter(({ outcome }) => outcome === "failed");
        assert.match(`${gate?.id} ${gate?.reason}`, /^update .*is not ready after/s);
        assert.match(failed.output.slice(-2000), /is not ready after \d+ seconds; last answer: .*certificate/);
        world.mood.opened = false;
        const whole = (...more: readonly string[]) => world.fenestra(["up", "--stack", stack, "--yes", ...more]);
        const { code, output } = await whole("--evidence", "e.json");
        assert.equal(code, 0, output);
        assert.match(output, /\n20 passed, 0 failed, \d+ skipped\n/);
        const { steps, timeline, machines, cluster, userData } = evidence("e.json");
        assert.deepEqual(
          steps.slice(-4).map(({ id, outcome }) => `${id} ${outcome}`),
          [...["preview done", "update done", "kubeconfig done", "verify done"]],
        );
        assert.ok(steps.every(({ seconds }) => seconds >= 0));
        assert.match(timeline.join("\n"), /^\S+Z update gate .*: done after \d+ s$/m);
        for (const told of Object.values(machines)) assert.deepEqual(told, [`stage join done after 12 s ${hidden}`]);
        assert.match(JSON.stringify(cluster), /"with \[an AWS access key\]"/);
        assert.ok(Object.keys(userData).length > 2);
        const ofRuntimeClass = ["runtimeclass", "windows-2022"];
        const found = await world.ask("kubectl", { words: ["get", ...ofRuntimeClass, "--output=json"] });
        await world.ask("kubectl", { words: ["delete", ...ofRuntimeClass] });
        const unchecked = await whole();
        assert.equal(unchecked.code, 1, unchecked.output);
        assert.match(unchecked.output, /fenestra: Check the cluster: a check failed/);
        const { metadata, ...object } = JSON.parse(found);
        const { name, labels } = metadata;
        await world.ask("apply", { object: { ...object, metadata: { name, labels } } });
      });

      it("is updated by a pipeline in parts, which see what replaces a machine as up does", async () => {
        const settings = parse(readFileSync(file(`stacks/Pulumi.${stack}.yaml`), "utf8"));
        settings.config["fenestra:kubernetes"] = { version: release };
        writeFileSync(file(`stacks/Pulumi.${stack}.yaml`), stringify(settings));
        const env = { PULUMI_BACKEND_URL: backends[cloud] };
        const part = (...words: readonly string[]) => world.fenestra(["up", "--stack", stack, ...words], { env });
        const before = await part("--drift");
        assert.equal(before.code, 0, before.output);
        const seen = await part("--preview", "approved");
        assert.equal(seen.code, 0, seen.output);
        assert.match(readFileSync(file("approved/operations.txt"), "utf8"), /^replace .*control-plane-0|cp-0/m);
        const done = await part("--approved", "approved");
        assert.equal(done.code, 0, done.output);
        assert.match((await up()).output, /nothing would change/);
      });

      it("is destroyed after Ctrl-C at each step, with the place of its state, and nothing is left", async () => {
        const down = ["down", "--stack", stack, "--yes", "--state-too"];
        for (const interruptAt of [/What will be lost/, /delete \S/, /The stack, but for/]) {
          const { code, output } = await world.fenestra(down, { interruptAt });
          assert.equal(code, 130, output);
        }
        const { code, output } = await world.fenestra(down);
        assert.equal(code, 0, output);
        // Objects of Kubernetes go with their cluster.
        assert.ok(world.calls().some((call) => call.startsWith("stack rm ")));
        assert.doesNotMatch(readFileSync(file(`stacks/Pulumi.${stack}.yaml`), "utf8"), /encryptedkey/);
        assert.ok(world.calls().some((call) => /^(aws s3api delete-bucket|az group delete)/.test(call)));
        assert.equal(await world.ask("running"), "");
      });
    });
});
