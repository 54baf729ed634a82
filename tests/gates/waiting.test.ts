import assert from "node:assert/strict";
import { Refused } from "../../components/gates/apiProbe.ts";
import { classesProblem } from "../../components/gates/policyGate.ts";
import type { Clock } from "../../components/gates/poll.ts";
import { waitFor } from "../../components/gates/waitFor.ts";
import { pass, placed, proof } from "./faults.ts";
import { type Answer, serving } from "./serving.ts";

/** A clock on which every sleep passes at once. */
function fakeClock(): Clock & { readonly slept: number[] } {
  const slept: number[] = [];
  return {
    slept,
    now: () => slept.reduce((sum, one) => sum + one, 0),
    sleep: async (milliseconds) => {
      slept.push(milliseconds);
    },
  };
}

describe("waiting", () => {
  it("gives up after the limit with the last thing that was wrong; a throw counts as wrong", async () => {
    const clock = fakeClock();
    const probe = async (): Promise<string | undefined> => {
      throw new Error("connection refused");
    };
    await assert.rejects(
      waitFor("the API", probe, { everySeconds: 10, limitSeconds: 60 }, { clock }),
      /the API is not ready after 60 seconds; last answer: connection refused/,
    );
    assert.equal(clock.slept.length, 6);
  });

  it("begins its limit anew with each progress", async () => {
    const clock = fakeClock();
    let looks = 0;
    const probe = async (progress: () => void) => {
      looks += 1;
      if (looks === 5) progress();
      return "half way";
    };
    await assert.rejects(waitFor("it", probe, { everySeconds: 10, limitSeconds: 60 }, { clock }), /after 60 seconds/);
    assert.equal(clock.slept.length, 4 + 6);
  });
});

describe("a wait that people watch", () => {
  it("tells its reason when it changes, at most each 15 seconds", async () => {
    const clock = fakeClock();
    const said: string[] = [];
    let looks = 0;
    await waitFor(
      "it",
      async () => (++looks > 12 ? undefined : `reason ${Math.floor(looks / 2)}`),
      { everySeconds: 5 },
      { clock, tell: (text) => said.push(`${clock.now() / 1000} ${text}`) },
    );
    assert.deepEqual(
      said,
      [0, 15, 30, 45].map((at) => `${at} waiting for it: reason ${Math.floor((at / 5 + 1) / 2)}`),
    );
  });

  it("ends after a minute of what does not heal, and after an interrupt with its reason", async () => {
    const refused = async () => {
      throw new Refused("403");
    };
    const tools = { clock: fakeClock(), tell: () => undefined };
    await assert.rejects(waitFor("it", refused, {}, tools), /not ready after 60 seconds; last answer: 403/);
    const waiting = waitFor("it", async () => "half way", { everySeconds: 60 }, { tell: () => undefined });
    setTimeout(() => process.emit("SIGINT"), 20);
    await assert.rejects(waiting, /the wait for it was interrupted; last answer: half way/);
  });

  it("begins its limit anew when this machine slept", async () => {
    const clock = fakeClock();
    let looks = 0;
    const probe = async () => {
      looks += 1;
      if (looks === 2) clock.slept.push(500_000);
      return looks > 3 ? undefined : "lost";
    };
    const slow = { ...clock, sleep: async (ms: number) => void clock.slept.push(looks === 1 ? 500_000 : ms) };
    await waitFor("it", probe, { everySeconds: 10, limitSeconds: 600 }, { clock: slow, tell: () => undefined });
    assert.equal(looks, 4);
  });
});

const untouched = (_: string, sent: string): Answer => ({ status: 201, body: sent });

describe("the gate behind an admission policy", () => {
  it("opens at once where the policy is in force, and asks for nothing but dry runs of Windows pods", async () => {
    const asked: { path: string; sent: string }[] = [];
    await pass("policy", (path, sent) => {
      asked.push({ path, sent });
      return placed(sent);
    });
    const told = asked.map(({ path, sent }) => {
      const { os, containers, ...spec } = JSON.parse(sent).spec;
      return [path, os.name, containers[0].image, "runtimeClassName" in spec];
    });
    const path = "/api/v1/namespaces/default/pods?dryRun=All";
    assert.deepEqual(told, [
      [path, "windows", "x:ltsc2022", false],
      [path, "windows", "x:latest", false],
    ]);
  });

  it("waits for a policy that comes into force late", async () => {
    let asked = 0;
    await pass("policy", (path, sent) => {
      asked += 1;
      return asked > 5 ? placed(sent) : untouched(path, sent);
    });
    // Five wrong answers to the first pod, then both pods once.
    assert.equal(asked, 7);
  });

  it("behind a load balancer wants many right answers in a row, so that one API server that lags behind is seen", async () => {
    const answers: boolean[] = [];
    const late = (path: string, sent: string) => {
      // The third server learns of the policy after ten requests.
      const right = answers.length % 3 !== 2 || answers.length >= 10;
      answers.push(right);
      return right ? placed(sent) : untouched(path, sent);
    };
    await pass("policy", late, { apiServers: 3 });
    assert.ok(answers.includes(false));
    assert.ok(answers.length - answers.lastIndexOf(false) - 1 >= 16, JSON.stringify(answers));
  });

  it("fails with what it saw when the policy never comes into force", async () => {
    await assert.rejects(
      pass("policy", untouched, { limitSeconds: 0.01 }),
      /^Error: admission policy classes at https:\/\/localhost:\d+ \(look at: kubectl get mutatingadmissionpolicy,mutatingadmissionpolicybinding classes -o yaml\) is not ready after 0\.01 seconds; last answer: a Windows pod with image x:ltsc2022 in namespace default gets no RuntimeClass, wanted windows-2022$/,
    );
  });

  it("fails with the API server's words when it refuses the pod, and with the start of an answer that is no JSON", async () => {
    const refusal = { status: 403, body: JSON.stringify({ kind: "Status", message: "pods is forbidden" }) };
    const forbidden = pass("policy", () => refusal, { limitSeconds: 0.01 });
    await assert.rejects(forbidden, /x:ltsc2022 in namespace default: the API answers 403: pods is forbidden$/);
    await serving(
      () => ({ status: 502, body: "<html>Bad gateway" }),
      async (api) => assert.match((await classesProblem(api, proof.probes)) ?? "", /answers 502: <html>Bad gateway$/),
    );
  });

  it("takes a class where there must be none for wrong, as after the policy of a cluster with other builds", async () => {
    await serving(
      (_, sent) => ({
        status: 201,
        body: JSON.stringify({ kind: "Pod", spec: { ...JSON.parse(sent).spec, runtimeClassName: "windows-2022" } }),
      }),
      async (api) =>
        assert.equal(
          await classesProblem(api, proof.probes),
          "a Windows pod with image x:latest in namespace default gets RuntimeClass windows-2022, wanted none",
        ),
    );
  });
});
