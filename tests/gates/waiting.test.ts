import assert from "node:assert/strict";
import { Refused } from "../../components/gates/apiProbe.ts";
import type { Clock } from "../../components/gates/poll.ts";
import { waitFor } from "../../components/gates/waitFor.ts";

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
    const probe = async (progress: () => void): Promise<string> => {
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
    const probe = async () => (++looks > 12 ? undefined : `reason ${Math.floor(looks / 2)}`);
    await waitFor(
      "it",
      probe,
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
