import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { apiProblem, controlPlaneNodes, podProblem, podSchema } from "../../components/gates/apiProbe.ts";
import { downVariable } from "../../components/gates/peersGate.ts";
import { newAuthority } from "../../rehearsal/clouds/server.ts";
import { resource } from "../support/mocks.ts";
import { callsOfGates, client, cluster, fingerprint, memberPod, members, pass, staysShut } from "./faults.ts";
import { type Answer, eachFault, faults, serving } from "./serving.ts";

describe("asking the API", () => {
  it("waits until the administrator has his rights, which kubeadm binds after /readyz answers", async () => {
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

  it("takes too few rights, and nothing else, for what time does not heal", async () => {
    for (const [status, name] of [
      [401, "Refused"],
      [403, "Refused"],
      [503, "Error"],
    ] as const)
      await serving(
        () => ({ status, body: "" }),
        async (api) => assert.rejects(controlPlaneNodes(api), { name }),
      );
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
    const problem = (startedAt?: string) => podProblem(podSchema.parse(memberPod("etcd-i-1", true, startedAt)), since);
    assert.equal(problem("2026-11-21T10:03:00Z"), undefined);
    assert.match(problem("2026-11-21T09:59:59Z") ?? "", /belongs to the machine before/);
    assert.match(problem() ?? "", /belongs to the machine before/);
    for (const odd of [null, 1, "x", {}, { metadata: {}, spec: {}, status: { conditions: "Ready" } }])
      assert.equal(podSchema.safeParse(odd).success, false);
  });
});

const at = "2026-11-22T01:00:00Z";
const limitSeconds = 0.01;

describe("gates", () => {
  it("of a member asks for the node of the machine, with values that are outputs", async () => {
    const asked: string[] = [];
    const well = cluster();
    await pass("member", (path) => {
      if (!path.includes("/leases/")) asked.push(path.split("/").at(-1) ?? "");
      return well(path);
    });
    // Twice: a kubelet that was not heard since the first look may be dead.
    const programs = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
    const each = [...programs.map((name) => `${name}-cp-0`), "cp-0"];
    assert.deepEqual(asked, [...each, ...each]);
    // The next machine's gate gives it only a minute.
    const unmarked = pass("member", cluster({ isMarked: false }), { limitSeconds });
    await assert.rejects(unmarked, /cp-0 is not marked as control/);
  });

  it("hears a kubelet from the first look on, also while its pods start", async () => {
    let looks = 0;
    const starting = cluster({
      lease: (_, look) => ({ renewTime: `2026-11-22T01:00:0${Math.min(look, 2)}Z` }),
      sick: (pod, look) => {
        if (pod.startsWith("etcd")) looks = look;
        return pod.startsWith("etcd") && look < 4;
      },
    });
    await pass("member", starting, { limitSeconds: 5 });
    // With a look of the lease only after the pods it would be one more.
    assert.equal(looks, 4);
  });

  it("of the API waits for every member, those that were added too", async () => {
    await pass("api", cluster());
    for (const [sick, told] of [
      ["etcd-cp-1", "etcd"],
      ["kube-scheduler-cp-1", "kube-scheduler"],
      ["cp-1", "etcd"],
    ] as const)
      await assert.rejects(
        pass("api", cluster({ sick: (pod) => pod.endsWith(sick) }), { limitSeconds }),
        new RegExp(`last answer: .*pod ${told}-cp-1 is not ready$`),
      );
  });
});

describe("the gate before a control-plane machine", () => {
  const [self = "", second = "", third = ""] = members.map(({ address }) => address);
  const sick = (pod: string) => pod.endsWith("cp-2");
  const without = (...missing: readonly string[]) => members.filter(({ etcdName }) => !missing.includes(etcdName));
  const shut = (answer: (path: string) => Answer) => pass("peers", answer, { limitSeconds });

  it("opens when the others are healthy members, whatever the machine itself is like", async () => {
    const { inputs, options } = resource(await pass("peers", cluster()), "pulumi:index:Stash", "gate");
    assert.deepEqual(inputs, { input: { fingerprint, parts: ["id"], replicas: 3 } });
    assert.deepEqual(options.hooks, { beforeUpdate: ["gate"] });
    await pass("peers", cluster({ sick: (pod) => pod.endsWith("cp-0") }));
    await pass("peers", cluster({ present: without("cp-0") }));
  });

  it("refuses while another machine is sick or gone, and says what to do", async () => {
    await assert.rejects(
      shut(cluster({ sick })),
      /machine cp-0 is not replaced now, since etcd could lose its quorum: .* last answer: (?:.*; )?pod etcd-cp-2 is not ready\..*Undo what replaces cp-0, and bring (?:cp-1 and )?cp-2 back first: .*`pulumi refresh --exclude(?!.*FENESTRA_CONTROL_PLANE)/,
    );
    await assert.rejects(
      shut(cluster({ present: without("cp-1") })),
      /there is no node with the address 10\.20\.228\.10.* with `sizes: \{ cp-1: size-of-cp-1[ ,]/,
    );
  });

  it("lets a machine be made that is away itself, whatever the others are like, and no other", async () => {
    const make = (
      index: number,
      missing: readonly string[],
      serving: readonly string[],
      readyz = 200,
      limit?: number,
    ) =>
      pass("peers", cluster({ sick, present: without(...missing), serving, readyz }), {
        index,
        ...(limit && { limitSeconds: limit }),
      });
    await make(1, ["cp-1"], [self, third]);
    await make(1, ["cp-0", "cp-1"], [third]);
    for (const [index, missing, serving, readyz] of [
      [0, ["cp-1"], [self, third], 200],
      [2, ["cp-1"], [self, third], 200],
      // Its Node was deleted, and its API server is there.
      [1, ["cp-1"], [self, second], 200],
      [1, ["cp-1"], [], 200],
      [1, ["cp-1"], [self], 500],
    ] as const)
      await assert.rejects(make(index, missing, serving, readyz, limitSeconds), /could lose its quorum/);
  });

  it("refuses while the kubelet of another machine gives no sign of life, whatever its pods were like", async () => {
    await assert.rejects(
      shut(cluster({ lease: () => ({ renewTime: at }) })),
      new RegExp(`last answer: cp-1 has given no sign of life since ${at}; cp-2 has given`),
    );
  });

  it("hears kubelets that renew at moments of their own", async () => {
    const times = (name: string, look: number) => Math.floor((name === "cp-2" ? look + 5 : look) / 10);
    const own = (name: string, look: number) => ({ renewTime: new Date(10_000 * times(name, look)).toISOString() });
    await pass("peers", cluster({ lease: own }));
  });

  it("lets a machine go that is etcd's only member, since an update that was to add others was cut off", async () => {
    const alone = (serving: readonly string[], readyz = 200) =>
      cluster({ present: without("cp-1", "cp-2"), serving, readyz });
    await pass("peers", alone([self]));
    for (const answer of [alone([self, second]), alone([]), alone([self], 500)])
      await assert.rejects(shut(answer), /no node with the address/);
  });

  it("asks for no machine that is still to be added", async () => {
    await pass("peers", () => ({ status: 500, body: "" }), { old: { fingerprint: "a", replicas: 1 } });
  });

  it("refuses a release that is too far from what runs, also without a preview", async () => {
    const to = (version: string) => pass("peers", cluster(), { version });
    await to("1.38.0");
    await assert.rejects(to("1.39.0"), /skips a minor after 1\.37\.1/);
    await assert.rejects(to("1.36.4"), /goes back from 1\.37\.1/);
  });

  it("stands aside when the deployer says that the control plane is down, unless it answers", async () => {
    process.env[downVariable] = "down";
    try {
      await pass("peers", () => ({ status: 500, body: "" }));
      await assert.rejects(shut(cluster({ sick })), /pod etcd-cp-2 is not ready/);
    } finally {
      delete process.env[downVariable];
    }
  });

  it("tells an API that cannot be reached from a sick peer, and offers no way around it", async () => {
    for (const status of [401, 403, 500])
      await assert.rejects(
        shut(() => ({ status, body: "" })),
        ({ message }: Error) =>
          /cannot be reached from here.* to a list of the control-plane nodes/.test(message) &&
          !message.includes(downVariable),
      );
  });

  it("refuses old state that it cannot read", async () => {
    const well = { fingerprint: "a", replicas: 3 };
    for (const old of [null, {}, "3", { replicas: "x" }, { replicas: 0 }, { replicas: null }, pulumi.secret(well)])
      await assert.rejects(pass("peers", cluster(), { old }), /the state of gate cannot be read/, String(old));
  });

  it("hears a kubelet that has made its lease a moment ago, by the API's clock", async () => {
    const made = (age: number, limitSeconds = 30) => {
      const creationTimestamp = new Date(Date.now() - 1000 * age).toISOString();
      return pass("peers", cluster({ lease: () => ({ renewTime: at, creationTimestamp }) }), { limitSeconds });
    };
    await made(5);
    for (const age of [60, -60]) await assert.rejects(made(age, 0.2), /no sign of life/);
  });

  it("believes only a renewal that is later", async () => {
    for (const times of [
      ["2026-11-22T01:00:01Z", "x"],
      ["2026-11-22T01:00:02Z", "2026-11-22T01:00:01Z", "2026-11-22T01:00:02Z"],
    ]) {
      const lease = (_: string, look: number) => ({ renewTime: times[look - 1] ?? times.at(-1) ?? "" });
      await assert.rejects(pass("peers", cluster({ lease }), { limitSeconds: 0.2 }), /no sign of life|has no time/);
    }
  });
});

describe("calls of gates times wrong answers, a sample", () => {
  it("every gate is passed with a well cluster, and all that the gates' files name is asked", async () => {
    const folder = new URL("../../components/gates/", import.meta.url);
    const named = readdirSync(folder)
      .filter((name) => name.endsWith(".ts"))
      .map((name) => readFileSync(new URL(name, folder), "utf8"))
      .flatMap((file) => [...file.matchAll(/["`](\/(?:readyz|apis?\/)[^"`?\s]*)["`?]/g)].map(([, path]) => path));
    const forms = [...new Set(named)].map(
      (path = "") => new RegExp(`^${path.replaceAll(/\$\{\w+\}/g, "[^/]+")}(\\?.*)?$`),
    );
    const unasked = (pairs: Awaited<ReturnType<typeof callsOfGates>>) =>
      forms.filter((form) => !pairs.some(([, , path]) => form.test(path)));
    const pairs = await callsOfGates();
    assert.ok(forms.length >= 8, String(forms));
    assert.deepEqual(unasked(pairs), []);
    // A call left out is seen.
    for (const form of forms) assert.ok(unasked(pairs.filter(([, , path]) => !form.test(path))).includes(form));
  });

  it("none opens, and each wait ends", async () =>
    await eachFault(await callsOfGates(), Object.keys(faults), staysShut, "sample")).timeout(30_000);
});
