import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { type ApiClient, apiProblem, podProblem, podSchema } from "../../components/gates/apiProbe.ts";
import { apiGate, memberGate } from "../../components/gates/controlPlane.ts";
import { downVariable, peersGate } from "../../components/gates/peersGate.ts";
import type { Patience } from "../../components/gates/waitFor.ts";
import { issueServerCertificate, newAuthority } from "../../rehearsal/clouds/server.ts";
import { resource, withMocks } from "../support/mocks.ts";
import { exampleSpec } from "../support/stacks.ts";
import { callsOfGates, staysShut } from "./faults.ts";
import { type Answer, eachFault, faults, runHook, serving } from "./serving.ts";

/** Any certificate: the fake server asks for none. */
const issueClient = () => issueServerCertificate(newAuthority("clients"), { commonName: "admin", dnsNames: ["admin"] });

const pod = (ready: string, startedAt?: string, nodeName = "i-1", component = "etcd") => ({
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

const marked = (name: string) => ({
  kind: "Node",
  metadata: { name, labels: { "node-role.kubernetes.io/control-plane": "" } },
});

/** The component whose mirror pod is asked for. */
const component = (path: string) => /pods\/(etcd|kube-[a-z-]+)-i-/.exec(path)?.[1] ?? "";

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
    const problem = (ready: string, startedAt?: string) => podProblem(podSchema.parse(pod(ready, startedAt)), since);
    assert.equal(problem("True", "2026-11-21T10:03:00Z"), undefined);
    assert.match(problem("True", "2026-11-21T09:59:59Z") ?? "", /belongs to the machine before/);
    assert.match(problem("True") ?? "", /belongs to the machine before/);
    for (const odd of [null, 1, "x", {}, { metadata: {}, spec: {}, status: { conditions: "Ready" } }])
      assert.equal(podSchema.safeParse(odd).success, false);
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
  const passing = async (make: (api: ApiClient) => pulumi.Resource, answer: (path: string) => string) =>
    serving(
      (path) => ({ status: 200, body: lease(path) ?? answer(path) }),
      async (api) => {
        const recorded = await withMocks(() => void make(api));
        assert.equal(resource(recorded, "pulumi:index:Stash", "gate").name, "gate");
        await runHook(recorded, "gate");
      },
    );
  const patience = { everySeconds: 0.001, limitSeconds: 0.01 };
  const patient = { ...patience, limitSeconds: 30 };

  it("of a member asks for the node of the machine, with values that are outputs", async () => {
    const asked: string[] = [];
    const gate = (node: object, limit: Patience) =>
      passing(
        (api) =>
          memberGate(
            "gate",
            { machine: "x", node: pulumi.output({ node: "i-7" }), api: pulumi.secret(api), patience: limit },
            {},
          ),
        (path) => {
          asked.push(path.split("/").at(-1) ?? "");
          return JSON.stringify(component(path) === "" ? node : pod("True", undefined, "i-7", component(path)));
        },
      );
    await gate(marked("i-7"), patient);
    // Twice: a kubelet that was not heard since the first look may be dead.
    const programs = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
    assert.deepEqual(
      asked,
      Array(2)
        .fill([...programs.map((name) => `${name}-i-7`), "i-7"])
        .flat(),
    );
    // The next machine's gate gives it only a minute.
    await assert.rejects(gate({ kind: "Node", metadata: { name: "i-7" } }, patience), /i-7 is not marked as control/);
  });

  it("hears a kubelet from the first look on, also while its pods start", async () => {
    const looks = { lease: 0, etcd: 0 };
    const answer = (path: string) => {
      if (path.includes("/leases/")) {
        looks.lease += 1;
        return JSON.stringify({
          kind: "Lease",
          metadata: { name: "i-7" },
          spec: { renewTime: `2026-11-22T01:00:0${Math.min(looks.lease, 2)}Z` },
        });
      }
      const name = component(path);
      if (name === "etcd") looks.etcd += 1;
      const state = name === "etcd" && looks.etcd < 4 ? "False" : "True";
      return JSON.stringify(name === "" ? marked("i-7") : pod(state, undefined, "i-7", name));
    };
    const node = { node: "i-7" };
    await serving(
      (path) => ({ status: 200, body: answer(path) }),
      async (api) => {
        const patience = { everySeconds: 0.001, limitSeconds: 5 };
        await runHook(
          await withMocks(() => void memberGate("gate", { machine: "x", node, api, patience }, {})),
          "gate",
        );
      },
    );
    // With a look of the lease only after the pods it would be one more.
    assert.equal(looks.etcd, 4);
  });

  it("of the API waits for every member, those that were added too", async () => {
    const members = [{ node: "i-1" }, { node: "i-2" }];
    const gate = (sick: string, limit = patience) =>
      passing(
        (api) => apiGate("gate", { machines: ["a", "b"], members, api, patience: limit }, {}),
        (path) =>
          path === "/readyz"
            ? "ok"
            : component(path) === ""
              ? JSON.stringify(marked(path.slice(-3)))
              : JSON.stringify(pod(path.endsWith(sick) ? "False" : "True", undefined, path.slice(-3), component(path))),
      );
    await gate("nobody", patient);
    await assert.rejects(gate("etcd-i-2"), /last answer: .*pod etcd-i-2 is not ready$/);
    await assert.rejects(gate("kube-scheduler-i-2"), /last answer: .*pod kube-scheduler-i-2 is not ready$/);
    await assert.rejects(gate("i-2"), /pod etcd-i-2 is not ready$/);
  });
});

describe("the gate before a control-plane machine", () => {
  const members = exampleSpec("aws-prod").controlPlane.members;
  const old = { fingerprint: "a", replicas: 3 };

  const listed = (name: string, address: string, version: string) => {
    const addresses = Object.entries({ Hostname: name, InternalIP: address }).map(([type, each]) => ({
      type,
      address: each,
    }));
    return { metadata: { name }, status: { addresses, nodeInfo: { kubeletVersion: `v${version}` } } };
  };

  /** A control plane whose nodes are named like its etcd members. */
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

  /** The same with addresses of API servers. */
  const withSlice = (usual: (path: string) => Answer, addresses: readonly (string | undefined)[], readyz = 200) => {
    const slice = { kind: "EndpointSlice", metadata: { name: "kubernetes" }, endpoints: [{ addresses }] };
    return (path: string): Answer => {
      if (path === "/readyz") return { status: readyz, body: "ok" };
      return path.endsWith("/endpointslices/kubernetes") ? { status: 200, body: JSON.stringify(slice) } : usual(path);
    };
  };

  /** Runs the gate before a machine. */
  const passing = (
    answer: (path: string) => Answer,
    kept: unknown = old,
    version = "1.36.4",
    limitSeconds = 30,
    index = 0,
  ) =>
    serving(answer, async (api) => {
      const member = members[index] ?? assert.fail();
      const otherSize = (name: string) => `size-of-${name}`;
      const patience = { everySeconds: 0.001, limitSeconds };
      const machine = { fingerprint: "b", start: { name: "m", parts: [] }, parts: ["id"], after: [] };
      const recorded = await withMocks(
        () => void peersGate("gate", { machine, member, members, version, otherSize, api, patience }, {}),
      );
      const { inputs, options } = resource(recorded, "pulumi:index:Stash", "gate");
      assert.deepEqual(inputs, { input: { fingerprint: "b", parts: ["id"], replicas: 3 } });
      assert.deepEqual(options.hooks, { beforeUpdate: ["gate"] });
      await runHook(recorded, "gate", { oldInputs: { input: kept } });
    });

  const renewed = (name: string, renewTime: string | undefined, creationTimestamp?: string): Answer => ({
    status: 200,
    body: JSON.stringify({ kind: "Lease", metadata: { name, creationTimestamp }, spec: { renewTime } }),
  });

  /** A well control plane, with what is said of a node's lease at each look. */
  const withLeases = (say: (name: string, look: number) => Answer): ((path: string) => Answer) => {
    const looks = new Map<string, number>();
    return (path) => {
      const name = /\/leases\/(.+)$/.exec(path)?.[1];
      if (name === undefined) return answers([])(path);
      const look = (looks.get(name) ?? 0) + 1;
      looks.set(name, look);
      return say(name, look);
    };
  };

  /** The same when it stays shut. */
  const shut = (answer: (path: string) => Answer): Promise<void> => passing(answer, old, "1.36.4", 0.01);

  it("opens when the others are healthy members, whatever the machine itself is like", async () => {
    await passing(answers([]));
    await passing(answers(["cp-0"]));
    await passing(answers([], "1.36.4", ["cp-0"]));
  });

  it("refuses while another machine is sick or gone, and says what to do", async () => {
    await assert.rejects(
      shut(answers(["cp-2"])),
      /machine cp-0 is not replaced now, since etcd could lose its quorum: .* last answer: (?:.*; )?pod etcd-cp-2 is not ready\..*Undo what replaces cp-0, and bring (?:cp-1 and )?cp-2 back first: .*`pulumi refresh --exclude(?!.*FENESTRA_CONTROL_PLANE)/,
    );
    await assert.rejects(
      shut(answers([], "1.36.4", ["cp-1"])),
      /there is no node with the address 10\.20\.228\.10.* with `sizes: \{ cp-1: size-of-cp-1[ ,]/,
    );
  });

  it("lets a machine be made that is away itself, whatever the others are like, and no other", async () => {
    const [first, second, third] = members.map(({ address }) => address);
    const world = (missing: readonly string[], serving: readonly (string | undefined)[], readyz = 200) =>
      withSlice(answers(["cp-2"], "1.36.4", missing), serving, readyz);
    const make = (index: number, world: (path: string) => Answer, seconds = 0.01) =>
      passing(world, old, "1.36.4", seconds, index);
    await make(1, world(["cp-1"], [first, third]), 30);
    await make(1, world(["cp-0", "cp-1"], [third]), 30);
    for (const [index, missing, serving, readyz] of [
      [0, ["cp-1"], [first, third], 200],
      [2, ["cp-1"], [first, third], 200],
      // Its Node was deleted, and its API server is there.
      [1, ["cp-1"], [first, second], 200],
      [1, ["cp-1"], [], 200],
      [1, ["cp-1"], [first], 500],
    ] as const)
      await assert.rejects(make(index, world(missing, serving, readyz)), /could lose its quorum/);
  });

  it("refuses while the kubelet of another machine gives no sign of life, whatever its pods were like", async () => {
    await assert.rejects(
      shut(answers([], "1.36.4", [], ["cp-1", "cp-2"])),
      /last answer: cp-1 has given no sign of life since 2026-11-22T01:\d+:\d+\.000Z; cp-2 has given/,
    );
  });

  it("hears kubelets that renew at moments of their own", async () => {
    const times = (name: string, look: number) => Math.floor((name === "cp-2" ? look + 5 : look) / 10);
    await passing(withLeases((name, look) => renewed(name, new Date(10_000 * times(name, look)).toISOString())));
  });

  it("lets a machine go that is etcd's only member, since an update that was to add others was cut off", async () => {
    const alone = (addresses: readonly (string | undefined)[], readyz = 200) =>
      withSlice(answers([], "1.36.4", ["cp-1", "cp-2"]), addresses, readyz);
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
        ({ message }: Error) =>
          /cannot be reached from here.* to a list of the control-plane nodes/.test(message) &&
          !message.includes(downVariable),
      );
  });

  it("refuses old state that it cannot read", async () => {
    for (const odd of [null, {}, "3", { replicas: "x" }, { replicas: 0 }, { replicas: null }, pulumi.secret(old)])
      await assert.rejects(passing(answers([]), odd), /the state of gate cannot be read/, String(odd));
  });

  it("hears a kubelet that has made its lease a moment ago, by the API's clock", async () => {
    const world = (age: number) =>
      withLeases((name) => renewed(name, "2026-11-22T01:00:00Z", new Date(Date.now() - 1000 * age).toISOString()));
    await passing(world(5));
    for (const age of [60, -60]) await assert.rejects(passing(world(age), old, "1.36.4", 0.2), /no sign of life/);
  });

  it("believes only a renewal that is later", async () => {
    for (const times of [
      ["2026-11-22T01:00:01Z", "x"],
      ["2026-11-22T01:00:02Z", "2026-11-22T01:00:01Z", "2026-11-22T01:00:02Z"],
    ]) {
      const world = withLeases((name, look) => renewed(name, times[look - 1] ?? times.at(-1)));
      await assert.rejects(passing(world, old, "1.36.4", 0.2), /no sign of life|has no time/);
    }
  });
});

describe("calls of gates times wrong answers, a sample", () => {
  it("every gate is passed with a well cluster, and all that the gates' files name is asked", async () => {
    const folder = new URL("../../components/gates/", import.meta.url);
    const names = readdirSync(folder).filter((name) => name.endsWith(".ts"));
    const files = names.map((name) => readFileSync(new URL(name, folder), "utf8"));
    const named = files.flatMap((file) =>
      [...file.matchAll(/["`](\/(?:readyz|apis?\/)[^"`?\s]*)["`?]/g)].map(([, path]) => path),
    );
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
