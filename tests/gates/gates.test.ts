import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import { apiGate } from "../../components/gates/apiGate.ts";
import { type ApiClient, apiProblem, memberProblem, podProblem } from "../../components/gates/apiProbe.ts";
import { memberGate } from "../../components/gates/memberGate.ts";
import { stateProblem } from "../../components/gates/upgradeGuard.ts";
import { type Clock, waitFor } from "../../components/gates/waitFor.ts";
import { issueServerCertificate, newAuthority } from "../../plan/fakes/certificates.ts";
import { resource, withMocks } from "../support/mocks.ts";
import { serving } from "./serving.ts";

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

/** Any certificate with its key: the fake server asks for none. */
const issueClient = () => issueServerCertificate(newAuthority("clients"), { commonName: "admin", dnsNames: ["admin"] });

const pod = (ready: string, startedAt?: string): object => ({
  status: {
    conditions: [
      { type: "Initialized", status: "True" },
      { type: "Ready", status: ready },
    ],
    containerStatuses: startedAt === undefined ? [] : [{ state: { running: { startedAt } } }],
  },
});

describe("waiting", () => {
  it("ends when nothing is wrong any more", async () => {
    const clock = fakeClock();
    const answers = ["down", "starting", undefined];
    await waitFor("it", async () => answers.shift(), { everySeconds: 7 }, clock);
    assert.deepEqual(clock.slept, [7000, 7000]);
  });

  it("gives up after the limit with the last thing that was wrong; a throw counts as wrong", async () => {
    const clock = fakeClock();
    const probe = async (): Promise<string | undefined> => {
      throw new Error("connection refused");
    };
    await assert.rejects(
      waitFor("the API", probe, { everySeconds: 10, limitSeconds: 60 }, clock),
      /the API is not ready after 60 seconds; last answer: connection refused/,
    );
    assert.equal(clock.slept.length, 6);
  });
});

describe("asking the API", () => {
  it("is content with 200 from /readyz and nothing else", async () => {
    await serving(
      (path) => ({ status: path === "/readyz" ? 200 : 404, body: "ok" }),
      async (api) => assert.equal(await apiProblem(api), undefined),
    );
    await serving(
      () => ({ status: 500, body: "[-]etcd failed" }),
      async (api) => assert.equal(await apiProblem(api), "/readyz answers 500: [-]etcd failed"),
    );
  });

  it("waits until the administrator has his rights, which kubeadm binds after /readyz answers", async () => {
    const client = issueClient();
    const review = { status: 201, body: JSON.stringify({ status: { allowed: false } }) };
    const asked: string[] = [];
    await serving(
      (path, sent) => {
        if (path === "/readyz") return { status: 200, body: "ok" };
        asked.push(`${path} ${JSON.stringify(JSON.parse(sent).spec.resourceAttributes)}`);
        return review;
      },
      async (api) => {
        assert.equal(await apiProblem({ ...api, client }), "the administrator has no rights yet");
        review.body = JSON.stringify({ status: { allowed: true } });
        assert.equal(await apiProblem({ ...api, client }), undefined);
        review.status = 403;
        assert.equal(await apiProblem({ ...api, client }), "a review of the administrator's rights is answered 403");
      },
    );
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    assert.deepEqual(asked, Array(3).fill(`${path} {"group":"*","resource":"*","verb":"*"}`));
  });

  it("trusts the cluster's own authority alone", async () => {
    await serving(
      () => ({ status: 200, body: "ok" }),
      async (api) => {
        const other = { ...api, caCertificate: newAuthority("kubernetes").certificate };
        await assert.rejects(apiProblem(other), /certificate|signature/i);
      },
    );
  });

  it("takes a machine for a member when its etcd and its API server are ready", async () => {
    const states = { etcd: "True", "kube-apiserver": "True" };
    const answer = (path: string): { status: number; body: string } => {
      const found = /^\/api\/v1\/namespaces\/kube-system\/pods\/(etcd|kube-apiserver)-i-1$/.exec(path)?.[1];
      if (found !== "etcd" && found !== "kube-apiserver") return { status: 404, body: "{}" };
      return { status: 200, body: JSON.stringify(pod(states[found])) };
    };
    await serving(answer, async (api) => {
      assert.equal(await memberProblem(api, { node: "i-1" }), undefined);
      assert.equal(await memberProblem(api, { node: "i-2" }), "pod etcd-i-2: the API answers 404");
      states["kube-apiserver"] = "False";
      assert.equal(await memberProblem(api, { node: "i-1" }), "pod kube-apiserver-i-1 is not ready");
      states.etcd = "False";
      assert.equal(await memberProblem(api, { node: "i-1" }), "pod etcd-i-1 is not ready");
    });
  });

  it("does not take the pod of the machine before for the new one's", () => {
    const since = "2026-11-21T10:00:00Z";
    assert.equal(podProblem(pod("True", "2026-11-21T10:03:00Z"), since), undefined);
    assert.match(podProblem(pod("True", "2026-11-21T09:59:59Z"), since) ?? "", /belongs to the machine before/);
    assert.match(podProblem(pod("True"), since) ?? "", /belongs to the machine before/);
    for (const odd of [undefined, null, 1, "x", {}, { status: { conditions: "Ready" } }])
      assert.equal(podProblem(odd), "is not ready");
  });
});

describe("gates", () => {
  /** Runs a gate's hook as the engine would. */
  const passing = async (make: (api: ApiClient) => pulumi.Resource, answer: (path: string) => string): Promise<void> =>
    serving(
      (path) => ({ status: 200, body: answer(path) }),
      async (api) => {
        const recorded = await withMocks(() => void make(api));
        const hook = recorded.hooks.get("gate");
        assert.ok(hook !== undefined);
        assert.equal(resource(recorded, "pulumi:index:Stash", "gate").name, "gate");
        await Reflect.apply(hook.callback, undefined, [{}]);
      },
    );
  const patience = { everySeconds: 0.001, limitSeconds: 0.01 };

  it("of a member asks for the node of the machine, with values that are outputs", async () => {
    const asked: string[] = [];
    await passing(
      (api) => memberGate("gate", { machine: pulumi.output("i-7"), api: pulumi.secret(api), patience }, {}),
      (path) => {
        asked.push(path.split("/").at(-1) ?? "");
        return JSON.stringify(pod("True"));
      },
    );
    assert.deepEqual(asked, ["etcd-i-7", "kube-apiserver-i-7"]);
  });

  it("of a member fails while the member is not ready", async () => {
    await assert.rejects(
      passing(
        (api) => memberGate("gate", { machine: "i-7", api, patience }, {}),
        () => JSON.stringify(pod("False")),
      ),
      /control-plane machine i-7 is not ready after 0\.01 seconds; last answer: pod etcd-i-7 is not ready/,
    );
  });

  it("of the API opens when it answers", async () => {
    await passing(
      (api) => apiGate("gate", { machines: ["i-1"], api, patience }, {}),
      () => "ok",
    );
  });
});

describe("the guard of upgrades", () => {
  it("reads what the engine hands it with distrust", () => {
    const good = { version: "1.36.4", replicas: 3 };
    assert.equal(stateProblem(good, good), undefined);
    assert.match(stateProblem({ ...good, version: "1.34.1" }, good) ?? "", /skips a minor/);
    for (const odd of [undefined, null, "1.36.4", { version: 1, replicas: 3 }, { version: "1.36.4" }])
      assert.match(stateProblem(odd, good) ?? "", /cannot be read/);
  });
});
