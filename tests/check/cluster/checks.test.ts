import assert from "node:assert/strict";
import { CheckFailure, CheckSkipped, NotYet } from "../../../check/check.ts";
import { controlPlaneProblems } from "../../../check/cluster/controlPlane.ts";
import { certificateProblems } from "../../../check/cluster/groups.ts";
import { exporterCheck } from "../../../check/cluster/metrics.ts";
import { controlPlaneGroup, nodeFacts, nodeGroups, nodesOf } from "../../../check/cluster/nodes.ts";
import { objectProblems } from "../../../check/cluster/objects.ts";
import { acrossHostsCheck, nodeToPodCheck, sameHostCheck } from "../../../check/cluster/pods.ts";
import {
  hostProbePodOf,
  probePodManifest,
  probePodsOf,
  type VerifyCheck,
  type VerifyContext,
  verifyNamespaceLabels,
} from "../../../check/cluster/probePods.ts";
import {
  apiFromPodCheck,
  dnsCheck,
  loadBalancerCheck,
  metadataCheck,
  nodePortCheck,
  outboundCheck,
  serviceIpCheck,
  steadiness,
} from "../../../check/cluster/services.ts";
import { diskDriverCheck, registrationProblems, storageClassFor } from "../../../check/cluster/storage.ts";
import { podNetworks } from "../../../components/podNetworks/podNetworks.ts";
import { manifestsOf } from "../../kubernetes/switches.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { ended, node } from "./network.ts";

const windows = (name: string, build = "10.0.20348") => node(name, { build });
const nodes = nodesOf([
  ...[node("cp", { controlPlane: true }), node("l1"), windows("w1"), windows("w22"), windows("w333", "10.0.17763")],
]);
const groupOf = (id: string) => {
  const found = [controlPlaneGroup(nodes), ...nodeGroups(nodes)].find((group) => group?.id === id);
  assert.ok(found !== undefined, id);
  return found;
};
const closed = ended(7, "", "connection refused");

/** Answers what a probe pod asks. */
type Answer = (url: string, probePod: string) => ReturnType<typeof ended>;

/** Runs a check until its time is up. */
const givesUp = (check: VerifyCheck, answer: Answer, api = noApi) => run(check, answer, api, 400);

const noApi: object = new Proxy({}, { get: (_target, name) => assert.fail(`asked the API for ${String(name)}`) });

/** Runs a check among Ready probe pods; returns what is noted. */
async function run(check: VerifyCheck, answer: Answer, api = noApi, limitMs = 60_000): Promise<readonly string[]> {
  const notes: string[] = [];
  const probePods: VerifyContext["probePods"] = {
    ready: async (group) => probePodsOf(group).map((probePod) => ({ ...probePod, ip: `10.244.0.${probePod.pod}` })),
    host: async (group) => {
      const probePod = hostProbePodOf(group);
      assert.ok(probePod !== undefined);
      return { ...probePod, ip: "" };
    },
    service: async () => ({ name: "to-x", clusterIp: "10.96.0.9", nodePort: 30_123 }),
    run: async (probePod, command) => {
      const url = command.find((word) => /^https?:/.test(word)) ?? "";
      if (url.includes(":8099/")) return closed;
      const pod = /^http:\/\/10\.244\.0\.([^:]+):8080/.exec(url)?.[1];
      const said = answer(url, probePod.pod);
      return said.code === 0 && said.stdout === "" && pod !== undefined ? ended(0, pod) : said;
    },
  };
  const signal = AbortSignal.timeout(limitMs);
  const note = (text: string) => notes.push(text);
  await Reflect.apply(check.run, undefined, [{ api, namespace: "n", probePods, signal, note }]);
  return notes;
}
const open = () => ended(0);

describe("checks of paths", () => {
  it("ask from a control-plane node, which admits the pod for that", () => {
    const group = groupOf("control-plane");
    const probePod = hostProbePodOf(group);
    assert.ok(probePod !== undefined);
    const { spec } = probePodManifest(probePod, group);
    assert.equal(spec?.hostNetwork, true);
    assert.deepEqual(spec?.tolerations, [
      { key: "node-role.kubernetes.io/control-plane", operator: "Exists", effect: "NoSchedule" },
    ]);
    assert.equal(verifyNamespaceLabels["fenestra.dev/control-plane"], "allowed");
    const worker = hostProbePodOf(groupOf("linux"));
    assert.ok(worker !== undefined);
    assert.equal(probePodManifest(worker, groupOf("linux")).spec?.tolerations, undefined);
  });

  it("fail when a Linux node, also the control plane's, does not reach a pod, or by small packets only", async () => {
    for (const start of ["control-plane", "linux"]) {
      const check = nodeToPodCheck(groupOf(start), groupOf("windows-2022"), podNetworks.flannel);
      await run(check, open);
      for (const lost of [(url: string) => url.includes("b0"), (url: string) => url.length > 9_000])
        await assert.rejects(
          givesUp(check, (url) => (lost(url) ? closed : ended(0))),
          CheckFailure,
        );
    }
  });

  it("judge from a Windows node's host what upstream promises: its own pods, on 2019 not even those", async () => {
    const [w2022, w2019, linux] = [groupOf("windows-2022"), groupOf("windows-2019"), groupOf("linux")];
    const farDeaf = (url: string) => (/-b0:|linux/.test(url) ? closed : ended(0));
    assert.match(
      (await run(nodeToPodCheck(w2022, w2022, podNetworks.flannel), farDeaf)).join("\n"),
      /flannel#1096\), so that is not judged; windows-2022-b0 does not answer/,
    );
    await assert.rejects(
      givesUp(nodeToPodCheck(w2022, w2022, podNetworks.flannel), (url) => (url.includes("a1") ? closed : ended(0))),
      /does not reach http:\/\/10\.244\.0\.windows-2022-a1/,
    );
    await assert.rejects(run(nodeToPodCheck(w2022, linux, podNetworks.flannel), farDeaf), CheckSkipped);
    await assert.rejects(run(nodeToPodCheck(w2019, w2019, podNetworks.flannel), open), CheckSkipped);
  });

  it("ask NodePorts from the control plane and a worker, and fail when either does not get through", async () => {
    const askers = [groupOf("control-plane"), groupOf("linux"), groupOf("windows-2022")];
    const check = nodePortCheck(groupOf("windows-2022"), askers.slice(0, 2));
    assert.equal((await run(check, () => ended(0, "windows-2022-a1")))[0], "asked from cp and l1: w1, w22");
    for (const deaf of ["control-plane-host", "linux-host"])
      await assert.rejects(
        givesUp(check, (_url, probePod) => (probePod === deaf ? closed : ended(0, "windows-2022-a0"))),
        /does not reach http:\/\/10\.0\.0\.2:30123/,
      );
  });

  it("ask exporters from other nodes, and want their metrics on the page", async () => {
    const check = exporterCheck(groupOf("windows-2022"), [groupOf("control-plane"), groupOf("windows-2022")]);
    const asked: string[] = [];
    assert.deepEqual(
      await run(check, (url) => {
        asked.push(url);
        return ended(0, "# HELP\nwindows_cpu_time_total 1");
      }),
      ["cp -> w1, cp -> w22, w1 -> w22"],
    );
    assert.ok(asked.every((url) => url.endsWith(":9182/metrics")));
    await assert.rejects(
      givesUp(check, () => ended(0, "node_load1 1")),
      /none of its metrics in "node_load1 1"/,
    );
  });

  it("pass in a network as it should be, and fail by what each alone would see", async () => {
    const [linux, windows2022, network] = [groupOf("linux"), groupOf("windows-2022"), podNetworks.flannel];
    const stranger = () => ended(0, "stranger");
    const well = (url: string) => {
      const { hostname } = new URL(url);
      if (/^16[89]\./.test(hostname)) return ended(28);
      if (hostname.startsWith("missing.")) return ended(6);
      if (hostname.startsWith("kubernetes.")) return ended(0, "ok");
      return ended(0, /^to-x|10\.96/.test(hostname) ? "windows-2022-a1" : "");
    };
    for (const [check, at, fault, problem] of [
      [
        serviceIpCheck(linux, windows2022, "pod"),
        "//10.96.0.9:80/",
        stranger,
        /was "stranger", wanted .*windows-2022-a0/,
      ],
      [serviceIpCheck(linux, windows2022, "node"), "//10.96.0.9:80/", () => closed, /^CheckFailure: node l1 does not/],
      [apiFromPodCheck(windows2022), "//kubernetes.default.svc.", stranger, /no API server's: "stranger"/],
      [dnsCheck(windows2022), "//to-x:80/", () => ended(6), /reach http:\/\/to-x:80/],
      [dnsCheck(windows2022), "//to-x.n.svc.", () => ended(6), /reach http:\/\/to-x\.n\.svc/],
      [dnsCheck(windows2022), "//missing.", () => ended(0, "parked"), /something answers for every name/],
      [sameHostCheck(windows2022, network), "windows-2022-a1:8080/hostname", () => closed, /does not reach .*-a1/],
      [acrossHostsCheck(linux, windows2022, network), "-b0:8080/hostname?x", () => closed, /\(\d+ characters\)/],
      [metadataCheck(linux), "//169.254.169.254/", () => ended(0, "token"), /got an answer from .*: token/],
    ] as const) {
      await run(check, well);
      await assert.rejects(
        givesUp(check, (url) => (url.includes(at) ? fault() : well(url))),
        problem,
        check.id,
      );
    }
  });

  it("ask a load balancer that is taken away again", async () => {
    const [check, made] = [loadBalancerCheck(groupOf("linux"), "internal", [], groupOf("control-plane")), new Set()];
    const balanced = (ingress: readonly object[]) => ({
      core: {
        createNamespacedService: async ({ body }: { body: { metadata: { name: string; annotations: object } } }) => {
          assert.equal(Object.values(body.metadata.annotations).join(), "true,true");
          made.add(body.metadata.name);
        },
        readNamespacedService: async () => ({ status: { loadBalancer: { ingress } } }),
        deleteNamespacedService: async ({ name }: { name: string }) => made.delete(name),
      },
    });
    const answer: Answer = (url) => (url === "http://lb.test:80/hostname" ? ended(0, "linux-a0") : closed);
    assert.deepEqual(await run(check, answer, balanced([{ hostname: "lb.test" }])), ["lb.test"]);
    await assert.rejects(givesUp(check, answer, balanced([])), /the cloud controller has given it no address/);
    assert.equal(made.size, 0);
  });

  it("tell a blocked site from no way out", async () => {
    const check = outboundCheck(groupOf("linux"), "https://registry.test/", 0);
    await run(check, () => ended(0, "\n200"));
    await assert.rejects(
      givesUp(check, (url) => (url.includes("1.1.1.1") ? ended(0, "\n301") : closed)),
      /does not reach https:\/\/registry\.test\/.*1\.1\.1\.1\/ does answer, so names or this one site/s,
    );
    await assert.rejects(
      givesUp(check, () => closed),
      /nor does https:\/\/1\.1\.1\.1\/, which needs no name/,
    );
  });

  it("hear every node's pods behind a load balancer, and twenty good answers in a row", () => {
    const pods = [
      { pod: "x-a0", node: "n1" },
      { pod: "x-a1", node: "n1" },
      { pod: "x-b0", node: "n2" },
    ];
    const heard = steadiness(pods);
    for (let count = 0; count < 40; count += 1) assert.throws(() => heard("x-a0"), /no pod on n2 has answered/);
    heard("x-b0");
    assert.throws(() => heard("HTTP 503"), NotYet);
    for (let count = 1; count < 20; count += 1) assert.throws(() => heard("x-b0"), /good answers in a row, wanted 20/);
    heard("x-a1");
  });
});

describe("checks of disks", () => {
  it("take the class that the stack makes for each system, one of NTFS, and the newest default", () => {
    const classes = manifestsOf(exampleSpec("aws-dev")).flatMap((each) => {
      if (each.kind !== "StorageClass") return [];
      const parameters = Object.entries(each.parameters ?? {}).map(([key, value]) => [key, String(value)]);
      const annotations = { ...each.metadata.annotations };
      return [{ metadata: { name: each.metadata.name, annotations }, parameters: Object.fromEntries(parameters) }];
    });
    assert.equal(storageClassFor("windows", classes), "windows");
    assert.equal(storageClassFor("linux", classes), "linux");
    assert.equal(storageClassFor("windows", [{ metadata: { name: "own" }, parameters: { fsType: "NTFS" } }]), "own");
    const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
    assert.equal(
      storageClassFor(
        "linux",
        [1, 3, 2].map((day) => ({
          metadata: { name: `of ${day}`, annotations, creationTimestamp: new Date(2026, 0, day) },
        })),
      ),
      "of 3",
    );
  });

  const driver = "disk.csi.azure.com";

  it("see an unregistered driver, and a zone lost for good", async () => {
    for (const [zone, known, registered, problem] of [
      ["westeurope-1", "westeurope-1", driver, /^$/],
      // A machine without zone has its fault domain there.
      ["0", "", driver, /^$/],
      ["westeurope-1", "", driver, /has zone "", the node "westeurope-1"/],
      ["westeurope-1", "westeurope-1", "smb.csi.k8s.io", /^node n: disk.csi.azure.com is not registered$/],
    ] as const) {
      const csi = { metadata: { name: "n" }, spec: { drivers: [{ name: registered, nodeID: "n" }] } };
      assert.match(
        registrationProblems(
          driver,
          [
            nodeFacts(
              node("n", { labels: { "topology.kubernetes.io/zone": zone, "topology.disk.csi.azure.com/zone": known } }),
            ),
          ],
          [csi],
        ).join(),
        problem,
      );
    }
    const [core, items] = [
      { listNode: async () => ({ items: [node("l1")] }) },
      [{ metadata: { name: "l1" }, spec: { drivers: null } }],
    ];
    const api = { core, storage: { listCSINode: async () => ({ items }) } };
    await assert.rejects(
      givesUp(diskDriverCheck(groupOf("linux"), driver), open, api),
      /disk\.csi.* is not registered$/,
    );
  });
});

describe("requests for kubelets' certificates", () => {
  const request = (
    name: string,
    at: number,
    conditions: readonly (readonly [string, string])[],
    certificate?: string,
  ) => ({
    metadata: { name, creationTimestamp: new Date(at) },
    spec: { request: "", signerName: "kubernetes.io/kubelet-serving", username: "system:node:n1" },
    status: {
      conditions: conditions.map(([type, reason]) => ({ type, reason, status: "True", message: "why" })),
      ...(certificate !== undefined && { certificate }),
    },
  });
  const of = (...all: ReturnType<typeof request>[]) => certificateProblems(new Set(["n1"]), all);

  it("are fine where a node's newest has a certificate, and red where one was denied as no machine's", () => {
    assert.deepEqual(
      of(request("new", 2, [["Approved", "FenestraApproved"]], "pem"), request("old", 1, [["Failed", ""]])),
      { problems: [], count: 1, again: [] },
    );
    for (const none of [undefined, ""])
      assert.deepEqual(of(request("late", 2, [], none), request("old", 1, [], "pem")).problems, [
        "system:node:n1: late has no certificate yet",
      ]);
    assert.deepEqual(certificateProblems(new Set(), [request("evil", 1, [["Denied", "FenestraDenied"]])]), {
      problems: ["somebody made evil, which was denied: why"],
      count: 0,
      again: [],
    });
    const message = "first certificate of n1, machine i-1, by the token of pool linux, since csr-1 has not been used";
    const given = {
      ...request("csr-2", 2, []),
      status: { conditions: [{ type: "Approved", status: "True", message }] },
    };
    assert.deepEqual(certificateProblems(new Set(), [given]).again, ["the token of pool linux"]);
  });
});

describe("what is missing of a cluster", () => {
  it("is told of the control plane by machine and program", () => {
    assert.deepEqual(
      controlPlaneProblems(
        ["cp"],
        ["etcd", "kube-apiserver", "kube-controller-manager"].map((program) => ({
          metadata: { name: `${program}-cp` },
          status: { conditions: [{ type: "Ready", status: program === "etcd" ? "False" : "True" }] },
        })),
      ),
      ["pod etcd-cp: it is not begun and not Ready, it has no node yet", "pod kube-scheduler-cp: there is none"],
    );
  });

  it("is each object of the stack that is gone, emptied, changed by hand, or has no pods", async () => {
    const manifests = manifestsOf(exampleSpec("aws-dev"));
    const lists = manifests.flatMap(({ kind, metadata, ...rest }) =>
      kind === "ConfigMap" && metadata.name === "fenestra-objects" && "data" in rest
        ? [String(rest.data?.objects)]
        : [],
    );
    const lines = lists.flatMap((text) => text.split("\n"));
    assert.equal(lines.length, manifests.length - 1);
    type Header = Parameters<Parameters<typeof objectProblems>[1]>[0];
    const made = ({ apiVersion, kind, metadata: { name, namespace } }: Header) =>
      manifests.find(
        (each) =>
          each.apiVersion === apiVersion &&
          each.kind === kind &&
          each.metadata.name === name &&
          each.metadata.namespace === namespace,
      ) ?? assert.fail(name);
    assert.deepEqual(await objectProblems(lines, async (header) => made(header)), []);
    const by = (manager: string, fields: object, subresource = "") => ({
      metadata: { managedFields: [{ manager, time: "2026-11-20T12:00:00Z", fieldsV1: fields, subresource }] },
    });
    const changes: Readonly<Record<string, object | undefined>> = {
      "fenestra-pods-deny": undefined,
      "metrics-server": { spec: { replicas: 0 } },
      "fenestra:administrators": { subjects: [] },
      "fenestra-pods": by("kubectl-patch", { "f:metadata": {}, "f:spec": { "f:validations": {} } }),
      "windows-2019": { metadata: { deletionTimestamp: "2026-11-20T12:00:00Z" } },
      "windows-2022": by("kubectl-label", { "f:metadata": {} }),
      "ebs-csi-controller": by("kubectl-rollout", { "f:spec": {} }),
    };
    const problems = await objectProblems(lines, async (header) => {
      const { name } = header.metadata;
      if (name in changes && changes[name] === undefined) return undefined;
      return /^(Service|Mutating)/.test(header.kind) ? made(header) : { ...made(header), ...changes[name] };
    });
    assert.deepEqual(problems.toSorted(), [
      "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy /fenestra-pods was changed: spec by kubectl-patch at 2026-11-20T12:00:00Z",
      "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding /fenestra-pods-deny is missing",
      "apps/v1 Deployment kube-system/metrics-server is scaled to 0",
      "node.k8s.io/v1 RuntimeClass /windows-2019 is being deleted",
      "rbac.authorization.k8s.io/v1 ClusterRoleBinding /fenestra:administrators has no subjects",
    ]);
  });
});
