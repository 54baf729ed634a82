import assert from "node:assert/strict";
import { z } from "zod";
import { decodeUserData } from "../../../plan/decode/userData.ts";
import { simulateCloud } from "../../../rehearsal/testkit/clouds.ts";
import { runStack, specOf } from "../../support/mocks.ts";
import { act, bootMachine, dataOf, forBoot, logOf, onMachine, readDrive, until, withJoinSecret, writeDrive } from "./bootedMachine.ts";

const stateSchema = z.looseObject({ boot: z.string().default(""), finished: z.string().default("") });
const seenSchema = z.strictObject({
  services: z.array(z.string()),
  tasks: z.array(z.string()),
  rights: z.array(z.string()),
  hns: z.string(),
});
const stateOf = (stage: string) => stateSchema.parse(JSON.parse(readDrive(`fenestra/state/${stage}.json`) || "{}"));

for (const stack of ["aws-dev", "azure-dev"]) {
  describe(`what a boot in a test changes of ${stack}`, () => {
    it("are programs' digests, the run's wrapper and pauses, and the join secret is there", async () => {
      const { program } = await runStack(stack);
      const first = simulateCloud(program, specOf(stack));
      const [name = ""] = first.secretNames;
      const cloud = simulateCloud(withJoinSecret(program, name, "published"), specOf(stack));
      const machine = cloud.machines.find(({ image, userData }) => /2022/.test(image) && userData.includes("powershell"));
      assert.ok(machine !== undefined);
      assert.equal(await cloud.readSecret(machine, name), "published");
      const given = machine.userData.toString("utf8");
      const changed = forBoot(given, () => "00");
      const files = (text: string) => decodeUserData(Buffer.from(text), cloud.objects(machine)).files;
      const wanted = files(given).filter(({ path }) => !path.endsWith("machine.json"));
      assert.deepEqual(
        files(changed).filter(({ path }) => !path.endsWith("machine.json")),
        wanted,
      );
      const { artifacts, tasks, retry, watch, prePull, ...rest } = dataOf(changed);
      const before = dataOf(given);
      assert.deepEqual({ ...before, ...rest }, before);
      assert.deepEqual([...new Set(artifacts.map(({ digest }) => digest))], ["00"]);
      const changedTasks = tasks.filter((task, index) => task.script !== before.tasks[index]?.script).map((task) => task.name);
      assert.deepEqual(changedTasks, ["fenestra-run"]);
      assert.ok(retry.pauseSeconds.length > 0 && watch.sickRounds > 0 && prePull.afterSeconds > 0);
    });
  });

  // On a machine that is thrown away: it changes registry, services, hosts and tasks of the Windows that it runs on.
  if (process.env.WINDOWS_POWERSHELL !== undefined)
    describe(`a machine of ${stack} on a real Windows`, function () {
      this.timeout(1_800_000);
      this.bail(true);
      let machine: Awaited<ReturnType<typeof bootMachine>>;
      let boot = "";
      // A file that all have, the object with the scripts, and the join secret: 403, then other bytes, then right.
      before(async () => {
        machine = await bootMachine(stack, { "kubelet.exe": ["refused", "torn"], ".s3.": ["refused", "torn"], "/secrets/": ["refused"] });
      });
      after(() => machine.end());
      const settled = (before: string) => () =>
        machine.stages.every(({ name }) => stateOf(name).finished !== "") && stateOf("join").boot !== before;

      it("asks for one restart, and gets Ready behind it although each server refuses or tears its first answers", async () => {
        await machine.start();
        await until("the request of a restart", machine.restarts);
        await act("restart");
        await until("the last stage", settled(""));
        boot = stateOf("join").boot;
        assert.equal(readDrive("fenestra-boot/installations").trim(), "Containers");
        assert.match(logOf("stage-artifacts"), /kubelet.exe: curl ended with/);
        if (stack.startsWith("aws")) assert.match(logOf("fetch"), /403[\s\S]*the scripts that were fetched have the SHA-256/);
        if (stack.startsWith("aws")) assert.equal(await machine.cloud.inService(machine.machine, () => Promise.resolve(true)), true);
      });

      it("has its services, tasks and rights, and no secret in a log", async () => {
        const { services, tasks, rights, hns } = seenSchema.parse(JSON.parse(await act("look")));
        assert.deepEqual(services, ["containerd Running", "kubelet Running"]);
        assert.deepEqual(tasks, ["fenestra-health", "fenestra-notices", "fenestra-run"]);
        assert.deepEqual(rights, ["BUILTIN\\Administrators", "NT AUTHORITY\\SYSTEM"]);
        assert.equal(hns, "Running");
        const logs = ["fetch", "bootstrap", "run", "health", "notices", ...machine.stages.map(({ name }) => `stage-${name}`)].map(logOf);
        assert.doesNotMatch(logs.join("\n"), new RegExp(machine.secret.token));
        assert.match(logOf("run"), /run: start in boot [\s\S]*run: ended with 0 after \d+ s/);
      });

      it("boots again without what is done, and heals its torn facts", async () => {
        const done = stateOf("artifacts").finished;
        writeDrive("fenestra/node.json", '{"server":');
        await act("restart");
        await until("the stages of another boot", settled(boot));
        assert.equal(stateOf("artifacts").finished, done);
        assert.equal(JSON.parse(readDrive("fenestra/node.json")).server, machine.secret.server);
        assert.equal(machine.restarts(), false);
        boot = stateOf("join").boot;
      });

      it("goes on by itself when its run is killed", async () => {
        await act("restart");
        await act("kill");
        await until("the stages of a third boot", settled(boot));
        await until("the health task to say so", () => /the bootstrap has ended before the node was Ready/.test(logOf("health")));
      });

      it("takes the user data a second time", async () => {
        const { finished } = stateOf("artifacts");
        await machine.start();
        assert.equal(stateOf("artifacts").finished, finished);
        assert.match(await onMachine(["schtasks.exe", "/query", "/tn", "fenestra-health"]), /fenestra-health/);
      });
    });
}
