import assert from "node:assert/strict";
import { z } from "zod";
import { nodeIdentityPolicies, nodeWriters } from "../../components/kubernetes/guardRails/ownNode.ts";
import { clusterBinding, clusterRights, rule, serviceAccount } from "../../components/kubernetes/rights.ts";
import { runOrFail } from "../../rehearsal/testkit/machines.ts";
import { obtainPrograms } from "../../rehearsal/testkit/programs.ts";
import { type ApiServer, startApiServer, until } from "../support/apiServer.ts";
import { obtainOrSkip } from "../support/skip.ts";
import { exampleSpec } from "../support/stacks.ts";
import { applied, namespaceOf } from "./applied.ts";
import { builtIn, writesOf } from "./nodeIdentities.ts";

const accounts = Object.keys(nodeWriters).map((text) => {
  const [namespace = "", name = ""] = text.split(":");
  return { namespace, name };
});
const kubelet = "a kubelet";
const manager = "kube-system:cloud-node-manager";
const everyone = [...Object.keys(nodeWriters), kubelet];
const role = "node-role.kubernetes.io/control-plane";
const zone = "topology.kubernetes.io/zone";
const uninitialized = { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" };
const other = { key: "dedicated", value: "x", effect: "NoSchedule" };
const owner = { apiVersion: "v1", kind: "Node", name: "gone", uid: "00000000-0000-4000-8000-000000000000" };

/** The controller-manager changes taints of a node that no kubelet speaks for. */
type Taints = readonly { readonly key: string }[];
type Change = object | ((now: Taints) => object);
const withoutTaint =
  ({ key: gone }: Taints[number]) =>
  (now: Taints) => ({ spec: { taints: now.filter(({ key }) => key !== gone) } });
const excluded = "node.kubernetes.io/exclude-from-external-load-balancers";
const exclude = (value: string | null) => ({ metadata: { labels: { [excluded]: value } } });

/** What is written to `worker-1`, from which every token is, or to another node; and who may. */
const writes: readonly (readonly [title: string, path: string, change: Change, allowed: readonly string[]])[] = [
  [
    "annotation",
    "worker-1/status",
    { metadata: { annotations: { "flannel.alpha.coreos.com/public-ip": "10.0.0.4" } } },
    everyone,
  ],
  ["condition", "worker-1/status", { status: { conditions: [{ type: "KernelDeadlock", status: "False" }] } }, everyone],
  ["annotation of another node", "cp-0/status", { metadata: { annotations: { a: "b" } } }, []],
  ["condition of another node", "cp-0/status", { status: { conditions: [{ type: "Ready", status: "False" }] } }, []],
  ["role", "worker-1/status", { metadata: { labels: { [role]: "" } } }, []],
  ["role of another node taken", "cp-0/status", { metadata: { labels: { [role]: null } } }, []],
  ["label taken away", "worker-1/status", { metadata: { labels: { "kubernetes.io/os": null } } }, [kubelet]],
  ["owner", "worker-1/status", { metadata: { ownerReferences: [owner] } }, []],
  ["finalizer", "worker-1/status", { metadata: { finalizers: ["a.test/b"] } }, []],
  ["zone", "worker-1", { metadata: { labels: { [zone]: "1" } } }, [manager, `${manager}-windows`, kubelet]],
  ...[null, "fenestra-drain"].map(
    (value) => [`excluded from load balancers: ${value}`, "worker-1", exclude(value), [kubelet]] as const,
  ),
  ["another node excluded", "cp-0", exclude("fenestra-drain"), []],
  ["role, by the object", "worker-1", { metadata: { labels: { [role]: "" } } }, []],
  ["initialised", "worker-1", withoutTaint(uninitialized), [manager, `${manager}-windows`]],
  ["another taint away", "worker-1", withoutTaint(other), []],
  ["a taint of another node", "cp-0", { spec: { taints: [{ ...other, effect: "NoExecute" }] } }, []],
];

const taintsOf = z.object({ spec: z.object({ taints: z.array(z.looseObject({ key: z.string() })) }) });

describe("identities of a worker on a real API server", function () {
  this.timeout(30 * 60_000);
  let api: ApiServer;
  const tokens = new Map<string, string>();
  /**
   * Whether a merge patch is let in. kubectl's own patch of a status reads the Node first, which hides what a raw one
   * may.
   */
  const patch = async (who: string, path: string, wanted: Change): Promise<string> => {
    const as =
      who === kubelet
        ? ["--as=system:node:worker-1", "--as-group=system:nodes", "--as-group=system:authenticated"]
        : ["--token", tokens.get(who) ?? ""];
    const [name = "", subresource] = path.split("/");
    const read = async () =>
      taintsOf.parse(JSON.parse((await api.kubectl(["get", "node", name, "-o", "json"])).stdout));
    const change = typeof wanted === "function" ? wanted((await read()).spec.taints) : wanted;
    const { code, stderr } = await api.kubectl([
      ...as,
      ...["patch", "node", name, "--type=merge", "--dry-run=server", "-p", JSON.stringify(change)],
      ...(subresource === undefined ? [] : ["--subresource=status"]),
    ]);
    return code === 0 ? "let in" : /denied request|is not allowed to/.test(stderr) ? "refused" : stderr;
  };

  before(async function () {
    api = await startApiServer(this, { flags: ["--enable-admission-plugins=NodeRestriction"] });
    const namespaces = [...new Set(accounts.map(({ namespace }) => namespace))].filter(
      (name) => name !== "kube-system",
    );
    const rights = [rule("", ["nodes"], ["get", "patch", "update"]), rule("", ["nodes/status"], ["get", "patch"])];
    await applied(
      api,
      namespaces.map((name) => namespaceOf(name)),
    );
    await applied(api, [
      ...accounts.map(serviceAccount),
      // More than they have: only the policy refuses.
      ...accounts.flatMap((account) => clusterRights(account, `${account.namespace}:${account.name}`, rights)),
      clusterBinding("kubelets", "kube-flannel:kube-flannel", [
        { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:nodes" },
      ]),
      { apiVersion: "v1", kind: "Node", metadata: { name: "cp-0", labels: { [role]: "" } } },
      {
        apiVersion: "v1",
        kind: "Node",
        metadata: { name: "worker-1", labels: { "kubernetes.io/os": "linux", [excluded]: "" } },
        spec: { taints: [uninitialized, other] },
      },
    ]);
    for (const { name, namespace } of accounts) {
      const bound = ["--bound-object-kind=Node", "--bound-object-name=worker-1"];
      const { code, stdout, stderr } = await api.kubectl(["-n", namespace, "create", "token", name, ...bound]);
      assert.equal(code, 0, stderr);
      tokens.set(`${namespace}:${name}`, stdout.trim());
    }
  });

  it("are those of kubeadm's own add-ons too, which write events and nothing else", async function () {
    const { kubeadm } = await obtainOrSkip(this, (progress) => obtainPrograms({ progress }));
    const write = async (namespace: string, name: string): Promise<readonly string[]> => {
      const { stdout } = await api.kubectl([
        ...[
          "auth",
          "can-i",
          "--list",
          "--no-headers",
          `--namespace=${namespace}`,
          `--as=system:serviceaccount:${namespace}:${name}`,
        ],
        ...[
          "--as-group=system:serviceaccounts",
          `--as-group=system:serviceaccounts:${namespace}`,
          "--as-group=system:authenticated",
        ],
      ]);
      // Resource or path, paths, names, verbs.
      const rows = [...stdout.matchAll(/^(\S*) +\[.*\] +\[(.*)\]$/gm)];
      assert.ok(rows.length > 5, stdout);
      return rows.flatMap(([, resource = "", verbs = ""]) =>
        writesOf([{ apiGroups: [""], resources: [resource], verbs: verbs.split(" ") }]),
      );
    };
    const found: Record<string, readonly string[]> = {};
    for (const addOn of ["kube-proxy", "coredns"]) {
      const printed = ["init", "phase", "addon", addOn, "--print-manifest", `--kubernetes-version=v${kubeadm.version}`];
      const manifests = await runOrFail([kubeadm.path, ...printed]);
      const { code, stderr } = await api.kubectl(["apply", "-f", "-"], manifests);
      assert.equal(code, 0, stderr);
      for (const [, account = ""] of manifests.matchAll(/^ +serviceAccountName: (.*)$/gm))
        found[account] = await write("kube-system", account);
    }
    assert.deepEqual(found, {
      "kube-proxy": ["create|patch|update events", "create|patch|update events.events.k8s.io"],
      coredns: [],
    });
    // The method itself sees a right to write.
    assert.deepEqual(await write("kube-flannel", "kube-flannel"), ["patch|update nodes", "patch nodes/status"]);
  });

  it("have of the built-in roles what the derivation takes for granted", async () => {
    const roleSchema = z.object({
      items: z.array(
        z.object({
          metadata: z.object({ name: z.string() }),
          rules: z
            .array(
              z.looseObject({
                apiGroups: z.array(z.string()).optional(),
                resources: z.array(z.string()).optional(),
                verbs: z.array(z.string()),
              }),
            )
            .nullish(),
        }),
      ),
    });
    const { stdout } = await api.kubectl(["get", "clusterroles,roles", "--namespace=kube-system", "--output=json"]);
    const { items } = roleSchema.parse(JSON.parse(stdout));
    for (const [name, writes] of Object.entries(builtIn)) {
      const rules = items.find(({ metadata }) => metadata.name === name)?.rules;
      assert.ok(rules, name);
      assert.deepEqual(writesOf(rules), writes, name);
    }
  });

  it("own every Node without the policies", async () => {
    for (const who of tokens.keys())
      for (const [title, path, change] of writes)
        assert.equal(await patch(who, path, change), "let in", `${who}: ${title}`);
  });

  describe("with the policies", () => {
    before(async () => {
      await applied(api, nodeIdentityPolicies(exampleSpec("aws-dev")));
      await until(
        "the policies to be in force",
        async () => (await patch(manager, "cp-0/status", { metadata: { annotations: { a: "b" } } })) === "refused",
      );
    });

    for (const [title, path, change, allowed] of writes)
      it(`${title}: ${allowed.length === everyone.length ? "all" : allowed.join(", ") || "none"}`, async () => {
        for (const who of everyone)
          assert.equal(await patch(who, path, change), allowed.includes(who) ? "let in" : "refused", who);
      });

    it("have no type errors", async () => {
      const read = async (): Promise<readonly { status?: { typeChecking?: { expressionWarnings?: unknown } } }[]> =>
        JSON.parse((await api.kubectl(["get", "validatingadmissionpolicies", "-o", "json"])).stdout).items;
      await until("the policies to be checked", async () =>
        (await read()).every(({ status }) => status?.typeChecking !== undefined),
      );
      const warnings = (await read()).map(({ status }) => status?.typeChecking?.expressionWarnings);
      assert.deepEqual(warnings, [undefined, undefined]);
    });

    it("have nobody write an address into a Service's status that a machine asks, and let a balancer's in", async () => {
      await applied(api, [
        {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "web", namespace: "default" },
          spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
        },
      ]);
      const answers = async (ip: string) => {
        const status = JSON.stringify({ status: { loadBalancer: { ingress: [{ ip, ipMode: "VIP" }] } } });
        const flags = ["--type=merge", "--subresource=status", "--dry-run=server", "-p", status];
        return (await api.kubectl(["patch", "service", "web", ...flags])).code;
      };
      const { kubernetes, controlPlane, network } = exampleSpec("aws-dev");
      const ranges = [kubernetes.podCidr, kubernetes.serviceCidr, ...network.cidrs].map((range) =>
        range.replace(/\d+\/\d+$/, "7"),
      );
      const inside = [...ranges, ...controlPlane.members.map(({ address }) => address)];
      for (const ip of ["169.254.169.254", "127.0.0.1", "168.63.129.16", ...inside])
        assert.equal(await answers(ip), 1, ip);
      for (const ip of ["203.0.113.9", "192.168.0.9"]) assert.equal(await answers(ip), 0, ip);
    });
  });
});
