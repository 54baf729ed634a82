import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import { type ApiClient, apiProblem, podProblem, Refused } from "../../components/gates/apiProbe.ts";
import { changeGuard, reachedGuard } from "../../components/gates/changeGuard.ts";
import { apiGate, memberGate } from "../../components/gates/controlPlane.ts";
import { downVariable, peersGate } from "../../components/gates/peersGate.ts";
import type { Clock } from "../../components/gates/poll.ts";
import { waitFor } from "../../components/gates/waitFor.ts";
import { type ReachedState, reachedOf } from "../../components/model/upgrade.ts";
import { issueServerCertificate, newAuthority } from "../../plan/fakes/certificates.ts";
import { resource, withMocks } from "../support/mocks.ts";
import { exampleSpec } from "../support/stacks.ts";
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

/** Any certificate with its key: the fake server asks for none. */
const issueClient = () => issueServerCertificate(newAuthority("clients"), { commonName: "admin", dnsNames: ["admin"] });

const pod = (ready: string, startedAt?: string, nodeName = "i-1", component = "etcd"): object => ({
  kind: "Pod",
  metadata: { name: `${component}-${nodeName}` },
  spec: { nodeName },
  status: {
    conditions: [
      { type: "Initialized", status: "True" },
      { type: "Ready", status: ready },
    ],
    containerStatuses: startedAt === undefined ? [] : [{ state: { running: { startedAt } } }],
  },
});

/** The component whose mirror pod is asked for. */
const component = (path: string): string => /pods\/(etcd|kube-apiserver)-/.exec(path)?.[1] ?? "";

describe("waiting", () => {
  it("ends when nothing is wrong any more", async () => {
    const clock = fakeClock();
    const answers = ["down", "starting", undefined];
    await waitFor("it", async () => answers.shift(), { everySeconds: 7 }, { clock });
    assert.deepEqual(clock.slept, [7000, 7000]);
  });

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

describe("asking the API", () => {
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
        await assert.rejects(apiProblem({ ...api, client }), /^Refused: the API answers 403 to a review of the admin/);
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

  it("does not take the pod of the machine before for the new one's", () => {
    const since = "2026-11-21T10:00:00Z";
    assert.equal(podProblem(pod("True", "2026-11-21T10:03:00Z"), since), undefined);
    assert.match(podProblem(pod("True", "2026-11-21T09:59:59Z"), since) ?? "", /belongs to the machine before/);
    assert.match(podProblem(pod("True"), since) ?? "", /belongs to the machine before/);
    for (const odd of [null, 1, "x", {}, { status: { conditions: "Ready" } }])
      assert.equal(podProblem(odd), "is not ready");
  });
});

/** A lease that is renewed between any two looks. */
const lease = (path: string): string | undefined => {
  const name = /\/leases\/(.+)$/.exec(path)?.[1];
  renewals += 1;
  const renewTime = new Date(Date.parse("2026-11-22T01:00:00Z") + renewals * 1000).toISOString();
  return name && JSON.stringify({ kind: "Lease", metadata: { name }, spec: { renewTime } });
};
let renewals = 0;

describe("gates", () => {
  /** Runs a gate's hook as the engine would. */
  const passing = async (
    make: (api: ApiClient) => pulumi.Resource,
    answer: (path: string) => string,
    old?: unknown,
  ): Promise<void> =>
    serving(
      (path) => ({ status: 200, body: lease(path) ?? answer(path) }),
      async (api) => {
        const recorded = await withMocks(() => void make(api));
        const hook = recorded.hooks.get("gate");
        assert.ok(hook !== undefined);
        assert.equal(resource(recorded, "pulumi:index:Stash", "gate").name, "gate");
        await Reflect.apply(hook.callback, undefined, [{ oldInputs: { input: old } }]);
      },
    );
  const patience = { everySeconds: 0.001, limitSeconds: 0.01 };
  const patient = { ...patience, limitSeconds: 30 };

  it("of a member asks for the node of the machine, with values that are outputs", async () => {
    const asked: string[] = [];
    await passing(
      (api) =>
        memberGate(
          "gate",
          { machine: "x", node: pulumi.output({ node: "i-7" }), api: pulumi.secret(api), patience: patient },
          {},
        ),
      (path) => {
        asked.push(path.split("/").at(-1) ?? "");
        return JSON.stringify(pod("True", undefined, "i-7", component(path)));
      },
    );
    // Twice: a kubelet that was not heard since the first look may be dead.
    assert.deepEqual(asked, Array(2).fill(["etcd-i-7", "kube-apiserver-i-7"]).flat());
  });

  it("of the API waits for every member, those that were added too", async () => {
    const members = [{ node: "i-1" }, { node: "i-2" }];
    const gate = (sick: string, limit = patience) =>
      passing(
        (api) => apiGate("gate", { machines: ["a", "b"], members, api, patience: limit }, {}),
        (path) =>
          path === "/readyz"
            ? "ok"
            : JSON.stringify(pod(path.endsWith(sick) ? "False" : "True", undefined, path.slice(-3), component(path))),
      );
    await gate("nobody", patient);
    await assert.rejects(gate("etcd-i-2"), /last answer: .*pod etcd-i-2 is not ready$/);
    await assert.rejects(gate("i-2"), /pod etcd-i-2 is not ready$/);
  });
});

describe("the gate before a control-plane machine", () => {
  const members = exampleSpec("aws-prod").controlPlane.members;
  const old = { fingerprint: "a", replicas: 3 };

  const listed = (name: string, address: string, version: string): object => {
    const addresses = Object.entries({ Hostname: name, InternalIP: address }).map(([type, each]) => ({
      type,
      address: each,
    }));
    return { metadata: { name }, status: { addresses, nodeInfo: { kubeletVersion: `v${version}` } } };
  };

  /** The answers of a control plane whose nodes are named like its etcd members. */
  const answers =
    (sick: readonly string[], version = "1.36.4", missing: readonly string[] = [], silent: readonly string[] = []) =>
    (path: string): Answer => {
      if (silent.some((name) => path.endsWith(`/leases/${name}`))) renewals -= 1;
      const renewed = lease(path);
      if (renewed !== undefined) return { status: 200, body: renewed };
      if (path.startsWith("/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fcontrol-plane"))
        return {
          status: 200,
          body: JSON.stringify({
            kind: "NodeList",
            items: members
              .filter(({ etcdName }) => !missing.includes(etcdName))
              .map(({ etcdName, address }) => listed(etcdName, address, version)),
          }),
        };
      const [, name = "", node = ""] = /pods\/(etcd|kube-apiserver)-(cp-\d)$/.exec(path) ?? [];
      if (name === "") return { status: 404, body: "{}" };
      return { status: 200, body: JSON.stringify(pod(sick.includes(node) ? "False" : "True", undefined, node, name)) };
    };

  /** Runs the gate before the first machine when it is about to be replaced. */
  const passing = (
    answer: (path: string) => Answer,
    kept: unknown = old,
    version = "1.36.4",
    limitSeconds = 30,
  ): Promise<void> =>
    serving(answer, async (api) => {
      const [member] = members;
      assert.ok(member !== undefined);
      const patience = { everySeconds: 0.001, limitSeconds };
      const machine = { fingerprint: "b", start: { name: "m", parts: [] }, parts: ["id"], after: [] };
      const recorded = await withMocks(
        () => void peersGate("gate", { machine, member, members, version, api, patience }, {}),
      );
      const { inputs, options } = resource(recorded, "pulumi:index:Stash", "gate");
      assert.deepEqual(inputs, { input: { fingerprint: "b", parts: ["id"], replicas: 3 } });
      assert.deepEqual(options.hooks, { beforeUpdate: ["gate"] });
      await Reflect.apply(recorded.hooks.get("gate")?.callback ?? assert.fail, undefined, [
        { oldInputs: { input: kept } },
      ]);
    });

  /** The same when it stays shut, which is seen soon. */
  const shut = (answer: (path: string) => Answer): Promise<void> => passing(answer, old, "1.36.4", 0.01);

  it("opens when the others are healthy members, whatever the machine itself is like", async () => {
    await passing(answers([]));
    await passing(answers(["cp-0"]));
    await passing(answers([], "1.36.4", ["cp-0"]));
  });

  it("refuses while another machine is sick or gone, and says what to do", async () => {
    await assert.rejects(
      shut(answers(["cp-2"])),
      /machine cp-0 is not replaced now, since etcd could lose its quorum: .* last answer: (?:.*; )?pod etcd-cp-2 is not ready\..*`pulumi refresh --exclude(?!.*FENESTRA_CONTROL_PLANE)/,
    );
    await assert.rejects(shut(answers([], "1.36.4", ["cp-1"])), /there is no node with the address 10\.20\.228\.10/);
    await assert.rejects(
      shut(() => ({ status: 500, body: "" })),
      /the API answers 500 to a list of the control-plane nodes/,
    );
  });

  it("refuses while the kubelet of another machine gives no sign of life, whatever its pods were like", async () => {
    await assert.rejects(
      shut(answers([], "1.36.4", [], ["cp-1", "cp-2"])),
      /last answer: cp-1 has given no sign of life since 2026-11-22T01:\d+:\d+\.000Z; cp-2 has given/,
    );
  });

  it("lets a machine go that is etcd's only member, since an update that was to add others was cut off", async () => {
    const alone = (addresses: readonly (string | undefined)[], readyz = 200) => {
      const usual = answers([], "1.36.4", ["cp-1", "cp-2"]);
      const slice = { kind: "EndpointSlice", metadata: { name: "kubernetes" }, endpoints: [{ addresses }] };
      return (path: string): Answer => {
        if (path === "/readyz") return { status: readyz, body: "ok" };
        return path.endsWith("/endpointslices/kubernetes") ? { status: 200, body: JSON.stringify(slice) } : usual(path);
      };
    };
    const [self, other] = members.map(({ address }) => address);
    await passing(alone([self]));
    for (const answer of [alone([self, other]), alone([]), alone([self], 500)])
      await assert.rejects(shut(answer), /no node with the address/);
  });

  it("asks for no machine that is still to be added", async () => {
    await passing(() => ({ status: 500, body: "" }), { fingerprint: "a", replicas: 1 });
  });

  it("refuses a release that is too far from what runs, also without a preview", async () => {
    await passing(answers([], "1.36.4"), old, "1.37.0");
    await assert.rejects(passing(answers([], "1.36.4"), old, "1.38.0"), /skips a minor after 1\.36\.4/);
    await assert.rejects(passing(answers([], "1.37.0"), old, "1.36.4"), /goes back from 1\.37\.0/);
  });

  it("stands aside when the deployer says that the control plane is down, unless it answers", async () => {
    process.env[downVariable] = "down";
    try {
      await passing(() => ({ status: 500, body: "" }));
      const sick = answers(["cp-2"]);
      const well = (path: string): Answer => (path === "/readyz" ? { status: 200, body: "ok" } : sick(path));
      await assert.rejects(shut(well), /pod etcd-cp-2 is not ready/);
    } finally {
      delete process.env[downVariable];
    }
  });

  it("tells an API that cannot be reached from a sick peer, and offers no way around it", async () => {
    for (const status of [401, 403, 500])
      await assert.rejects(
        shut(() => ({ status, body: "" })),
        (error: Error) => /cannot be reached from here/.test(error.message) && !error.message.includes(downVariable),
      );
  });

  it("refuses old state that it cannot read", async () => {
    for (const odd of [null, {}, "3", { replicas: "x" }, { replicas: 0 }, { replicas: null }, pulumi.secret(old)])
      await assert.rejects(passing(answers([]), odd), /the state of gate cannot be read/, String(odd));
  });

  it("believes only a renewal that is later", async () => {
    for (const times of [
      ["2026-11-22T01:00:01Z", "x"],
      ["2026-11-22T01:00:02Z", "2026-11-22T01:00:01Z", "2026-11-22T01:00:02Z"],
    ]) {
      const left = new Map<string, string[]>();
      const answer = answers([]);
      await assert.rejects(
        shut((path) => {
          const name = /\/leases\/(.+)$/.exec(path)?.[1];
          if (name === undefined) return answer(path);
          const own = left.get(name) ?? [...times];
          left.set(name, own);
          const renewTime = own.length > 1 ? own.shift() : own[0];
          return { status: 200, body: JSON.stringify({ kind: "Lease", metadata: { name }, spec: { renewTime } }) };
        }),
        /no sign of life|has no time/,
      );
    }
  });
});

describe("the guards of changes", () => {
  const guarded = async (make: () => pulumi.Resource, old: unknown): Promise<void> => {
    const recorded = await withMocks(() => void make());
    const hook = recorded.hooks.get("guard");
    assert.ok(hook !== undefined && "opts" in hook);
    assert.deepEqual(hook.opts, { onDryRun: true });
    await Reflect.apply(hook.callback, undefined, [{ oldInputs: { input: old } }]);
  };
  const asked = (old: unknown): Promise<void> =>
    guarded(() => changeGuard("guard", { version: "1.36.4", replicas: 3 }, {}), old);
  const reached = (old: unknown, keys: Omit<ReachedState, "version"> = {}): Promise<void> =>
    guarded(() => reachedGuard("guard", { version: "1.36.4", ...keys }, {}), old);

  it("refuse in a preview", async () => {
    await asked({ version: "1.35.1", replicas: 1 });
    await assert.rejects(asked({ version: "1.34.1", replicas: 5 }), /2 problems(.|\n)*smaller(.|\n)*skips a minor/);
    await reached("1.35.9");
    await assert.rejects(reached("1.37.0"), /goes back from 1\.37\.0, which all control-plane machines have reached/);
  });

  for (const [list, first, second, verb] of [
    ["encryptionKeys", "key1", "key2", "encrypts"],
    ["serviceAccountKeys", "ecdsa", "rsa-1", "signs"],
  ] as const)
    it(`refuse to begin with a key of ${list} that was asked for by an update which was cut off`, async () => {
      const [asked, begun] = [{ [list]: [first, second] }, { [list]: [second, first] }];
      await reached("1.36.4", asked);
      await reached({ version: "1.36.4", ...asked }, begun);
      await assert.rejects(reached("1.36.4", begun), new RegExp(`${verb} with ${second}, which no API server`));
      await assert.rejects(
        reached({ version: "1.36.4", ...asked }, { [list]: [second] }),
        new RegExp(`drops ${first}, which ${verb} until now`),
      );
    });

  it("keep what was reached as it was, a release, as long as there are only the first keys", async () => {
    for (const keys of [["ecdsa"], ["ecdsa", "rsa-1"]] as const) {
      const state = reachedOf({ ...exampleSpec("aws-prod"), serviceAccountKeys: keys });
      const recorded = await withMocks(() => void reachedGuard("guard", state, {}));
      const { version } = exampleSpec("aws-prod").kubernetes;
      const kept = keys.length === 1 ? version : { version, serviceAccountKeys: [...keys] };
      assert.deepEqual(resource(recorded, "pulumi:index:Stash", "guard").inputs.input, kept);
    }
  });

  it("refuse the first update of an example, and leave it alone in a preview", async () => {
    const state = { version: "1.36.4", replicas: 3 };
    const unfit = [{ path: "config.fenestra:httpProxy", value: "x", message: "is an example", allowed: "your own" }];
    const recorded = await withMocks(() => void changeGuard("guard", state, {}, unfit));
    const { hooks } = resource(recorded, "pulumi:index:Stash", "guard").options;
    assert.deepEqual(hooks, { beforeCreate: ["guard-first"], beforeUpdate: ["guard"] });
    const hook = recorded.hooks.get("guard-first");
    assert.ok(hook !== undefined && "opts" in hook);
    assert.notEqual(hook.opts?.onDryRun, true);
    assert.throws(() => Reflect.apply(hook.callback, undefined, [{}]), /httpProxy: is an example/);
  });

  it("read what the engine hands them with distrust", async () => {
    for (const odd of [null, 1, { version: 1, replicas: 3 }]) {
      await assert.rejects(asked(odd), /cannot be read/);
      await assert.rejects(reached(odd), /cannot be read/);
    }
  });
});
