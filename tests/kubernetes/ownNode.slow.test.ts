// Sees what nothing faster does: what a real API server lets a machine write.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as models from "@kubernetes/client-node";
import { z } from "zod";
import { nodeIdentityPolicies, nodeWriters } from "../../components/kubernetes/guardRails/ownNode.ts";
import { clusterBinding, serviceAccount } from "../../components/kubernetes/manifest.ts";
import { controlPlaneKey } from "../../components/model/pools.ts";
import { runOrFail } from "../../rehearsal/host/command.ts";
import { obtainPrograms } from "../../rehearsal/programs/obtain.ts";
import { type ApiServer, applied, namespaceOf, startApiServer, until } from "../support/apiServer.ts";
import { obtainOrSkip } from "../support/skip.ts";
import { exampleSpec } from "../support/stacks.ts";
import { builtIn, type Call, calls, headersOf, writers, writesOf } from "./hostileCalls.ts";

const accounts = Object.keys(nodeWriters).map((text) => {
  const [namespace = "", name = ""] = text.split(":");
  return { namespace, name };
});
const uninitialized = { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" };
const taints = [uninitialized, { key: "dedicated", value: "x", effect: "NoSchedule" }];
const mac = "flannel.alpha.coreos.com/backend-data";

/** What kubelets make that is not stored, or that fenestra-join-requests bounds. */
const others = ["pods/eviction", "certificatesigningrequests", "serviceaccounts/token"];

describe("identities of a worker on a real API server", function () {
  this.timeout(30 * 60_000);
  let api: ApiServer;
  /** By the role of kubelets, which the Node authorizer repeats. */
  const kubeletWrites: string[] = [];
  const uids = new Map<string, string>();
  const answer = async ({ path, method, body }: Call, who: string) => {
    const text = body.replaceAll(/"UID_([^"]+)"/g, (_, name) => JSON.stringify(uids.get(name)));
    const { taken, body: said } = await api.send(method, `/${path}?dryRun=All`, text, headersOf(who));
    // There is one already, which is asked last.
    if (taken || JSON.parse(said).code === 409) return "let in";
    return [403, 422].includes(JSON.parse(said).code) ? "refused" : said;
  };

  before(async function () {
    api = await startApiServer(this, { flags: ["--enable-admission-plugins=NodeRestriction"] });
    const namespaces = [...new Set(accounts.map(({ namespace }) => namespace))].filter(
      (name) => name !== "kube-system",
    );
    await applied(
      api,
      namespaces.map((name) => namespaceOf(name)),
    );
    const subjects = ["system:nodes", writers].map((name) => ({
      ...{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name },
    }));
    // The cloud's controller says where each is, and the API server copies that to the Node's pods.
    const place = { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "r-a" };
    const node = (name: string, os: string, { labels = {}, ...more }: { labels?: object; annotations?: object }) => ({
      ...{ apiVersion: "v1", kind: "Node" },
      metadata: { name, labels: { "kubernetes.io/os": os, ...place, ...labels }, ...more },
      spec: { ...{ providerID: `aws:///a/${name}`, podCIDR: "10.244.1.0/24", podCIDRs: ["10.244.1.0/24"] } },
    });
    const pod = (name: string, hostNetwork: boolean, nodeName = "worker-1") => ({
      ...{ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" } },
      spec: { nodeName, hostNetwork, containers: [{ name: "a", image: "a" }] },
    });
    await applied(api, [
      ...[...accounts, { name: "default", namespace: "default" }].map(serviceAccount),
      // More than they have: only the policy refuses.
      clusterBinding("everything", "cluster-admin", subjects),
      node("cp-0", "linux", { labels: { [controlPlaneKey]: "" } }),
      node("worker-1", "linux", {
        labels: { "node.kubernetes.io/exclude-from-external-load-balancers": "" },
        annotations: { [mac]: '{"VNI":4096,"VtepMAC":"0a:00:00:00:00:01"}' },
      }),
      node("windows-1", "windows", { annotations: { [mac]: '{"VNI":4096,"VtepMAC":"00:15:5d:00:00:01"}' } }),
      {
        ...{ apiVersion: "storage.k8s.io/v1", kind: "CSINode", metadata: { name: "windows-1" } },
        spec: { drivers: [{ name: "a.test", nodeID: "i-3", topologyKeys: [] }] },
      },
    ]);
    const inDefault = (kind: string, name: string, more: object) => ({
      ...{ apiVersion: "v1", kind, metadata: { name, namespace: "default" } },
      ...more,
    });
    await applied(api, [
      ...[pod("web", false), pod("host", true), pod("elsewhere", false, "cp-0")],
      inDefault("Event", "there", { involvedObject: { kind: "Pod", name: "elsewhere", namespace: "default" } }),
      inDefault("PersistentVolumeClaim", "data", {
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      }),
      { apiVersion: "storage.k8s.io/v1", kind: "CSINode", metadata: { name: "worker-1" }, spec: { drivers: [] } },
      {
        ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", spec: { holderIdentity: "worker-1" } },
        metadata: { name: "worker-1", namespace: "kube-node-lease" },
      },
    ]);
    for (const name of ["web", "elsewhere"]) {
      uids.set(name, (await api.kubectl(["get", "pod", name, "--output=jsonpath={.metadata.uid}"])).stdout);
    }
    const addresses = JSON.stringify({ status: { addresses: [{ type: "InternalIP", address: "10.0.64.4" }] } });
    // A new Node gets another one.
    await api.send("PATCH", "/api/v1/nodes/worker-1", JSON.stringify({ spec: { taints } }));
    for (const name of ["cp-0", "worker-1", "windows-1"]) {
      const { body } = await api.send("PATCH", `/api/v1/nodes/${name}/status`, addresses);
      uids.set(name, JSON.parse(body).metadata.uid);
    }
  });

  it("are those of kubeadm's own add-ons too, which write events and nothing else", async function () {
    const { kubeadm } = await obtainOrSkip(this, (progress) => obtainPrograms({ progress }));
    const write = async (namespace: string, name: string) => {
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
    kubeletWrites.push(...writesOf(items.find(({ metadata }) => metadata.name === "system:node")?.rules ?? []));
    assert.ok(kubeletWrites.length > 10);
    for (const [name, writes] of Object.entries(builtIn)) {
      const rules = items.find(({ metadata }) => metadata.name === name)?.rules;
      assert.ok(rules, name);
      assert.deepEqual(writesOf(rules), writes, name);
    }
  });

  it("are bounded in every object that a kubelet may store", () => {
    const policies = JSON.stringify(nodeIdentityPolicies(exampleSpec("aws-dev")));
    assert.deepEqual(
      kubeletWrites
        .map((write) => write.replace(/^\S+ (\S+\.k8s\.io\/)?/, ""))
        .filter((resource) => !policies.includes(`"${resource}"`)),
      others,
    );
  });

  it("lie about everything without the policies", async () => {
    const refused: string[] = [];
    for (const call of calls) {
      if (!(await Promise.all(call.tries.map((who) => answer(call, who)))).includes("let in")) refused.push(call.value);
    }
    const upstreams = calls.filter(({ reach }) => reach === "upstream").map(({ value }) => value);
    assert.deepEqual(refused.toSorted(), upstreams.toSorted());
  });

  describe("with the policies", () => {
    before(async () => {
      await applied(api, nodeIdentityPolicies(exampleSpec("aws-dev")));
      // One of each policy.
      for (const call of [
        "owners",
        "flannel: MAC of Windows, another's",
        "a pod as CoreDNS",
        "a static pod's name and labels",
        "hostIP",
        "size of a Lease",
        "a Node's first providerID, another's",
        "CSINode: another's id at somebody's driver",
      ].flatMap((value) => calls.filter((call) => call.value === value)))
        await until(`${call.value} to be refused`, async () => (await answer(call, call.tries[0] ?? "")) === "refused");
    });

    for (const call of calls)
      it(`${call.value}: ${call.may.join(", ") || "none"}`, async () => {
        const answers = await Promise.all(call.tries.map(async (who) => [who, await answer(call, who)] as const));
        assert.deepEqual(
          answers,
          call.tries.map((who) => [who, call.may.includes(who) ? "let in" : "refused"]),
          `${call.lie}\n${answers.join("\n")}`,
        );
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

    it("let a Node on Azure be the machine of its name alone", async () => {
      await applied(api, nodeIdentityPolicies(exampleSpec("azure-dev")));
      const machine = (name: string) => `/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/${name}`;
      const member = (set: string, id: string) => machine(`virtualMachineScaleSets/${set}/virtualMachines/${id}`);
      const answers = async (node: string, id: string) => {
        const body = JSON.stringify({ metadata: { name: node }, spec: { providerID: `azure://${id}` } });
        const who = { "Impersonate-User": `system:node:${node}`, "Impersonate-Group": ["system:nodes"] };
        return (await api.send("POST", "/api/v1/nodes?dryRun=All", body, who)).taken;
      };
      const own = { win202200000z: member("azure-dev-win2022", "35"), linux000010: member("azure-dev-linux", "36") };
      const all = Object.entries({ ...own, "azure-dev-cp-0": machine("virtualMachines/azure-dev-cp-0") });
      await until("the policies of Azure", async () => answers("linux000010", own.linux000010));
      for (const [node] of all)
        for (const [other, id] of all) assert.equal(await answers(node, id), node === other, `${node} as ${other}`);
      for (const id of [member("azure-dev-win2022", "36"), member("azure-dev-linux", "1")])
        assert.equal(await answers("linux000010", id), false, id);
    });
  });
});

/** What a machine writes of an object, by the API's own types. */
const written: Readonly<Record<string, Record<string, { attributeTypeMap: readonly { baseName: string }[] }>>> = {
  nodes: { spec: models.V1NodeSpec, status: models.V1NodeStatus },
  pods: { status: models.V1PodStatus },
  persistentvolumeclaims: { status: models.V1PersistentVolumeClaimStatus },
  leases: { spec: models.V1LeaseSpec },
  csinodes: { spec: models.V1CSINodeSpec },
  events: { "": models.CoreV1Event },
};
const inMetadata = ["labels", "annotations", "ownerReferences", "finalizers"];
const known = Object.entries(written).flatMap(([resource, parts]) => [
  ...inMetadata.filter(() => ["nodes", "pods"].includes(resource)).map((name) => `${resource} metadata ${name}`),
  ...Object.entries(parts).flatMap(([part, model]) =>
    model.attributeTypeMap.map(({ baseName }) => `${resource} ${part} ${baseName}`),
  ),
]);

/** The fields that a call writes. */
function fieldsOf({ path, body }: Call) {
  const resource = Object.keys(written).find((name) => path.split("/").includes(name));
  return Object.entries(JSON.parse(body)).flatMap(([part, value]) => [
    `${resource}  ${part}`,
    ...Object.keys(Object(value)).map((name) => `${resource} ${part} ${name}`),
  ]);
}

describe("what a machine writes", () => {
  it("is tried in each field that the API has", () => {
    const tried = new Set(calls.flatMap(fieldsOf));
    assert.deepEqual(
      known.filter((each) => !tried.has(each) && !/^events {2}(apiVersion|kind)$/.test(each)),
      [],
    );
  });

  it("is Kubernetes' to refuse, or reaches no other machine, or docs/security.md says how far", () => {
    const docs = readFileSync("docs/security.md", "utf8").replaceAll(/\s+/g, " ");
    for (const { value, may, reach = "" } of calls) {
      assert.equal(
        may.some((who) => !/^(control plane|administrator)$/.test(who)),
        !["", "upstream"].includes(reach),
        value,
      );
      assert.ok(["", "own", "upstream"].includes(reach) || docs.includes(reach), `${value}: ${reach}`);
    }
  });
});
