// Sees what nothing faster does: what policies on a real API server say of all pods, and where its scheduler puts those.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { nodeIdentityPolicies } from "../../components/kubernetes/guardRails/ownNode.ts";
import { readDocument } from "../docs/documents.ts";
import { type ApiServer, applied, policiesInForce, until } from "../support/apiServer.ts";
import { exampleSpec } from "../support/stacks.ts";
import { differences, ofPolicies, placed, startCluster, tried } from "./podCluster.ts";
import { objectIn, type PodCase, pathTo, podHomes, podTable } from "./pods.ts";
import { manifestsOf, planOf } from "./switches.ts";

const rowOf = (name: string) => podTable.find(({ title }) => title === name) ?? assert.fail(name);

const services = z
  .array(
    z.object({
      older: z.string().optional(),
      is: z.string().default(""),
      of: z.string().optional(),
      namespace: z.string().default("plain"),
      annotations: z.record(z.string(), z.string()).default({}),
      spec: z.looseObject({}).optional(),
      refused: z.string().optional(),
    }),
  )
  .parse(parse(readFileSync(new URL("services.yaml", import.meta.url), "utf8")));

const serviceOf = ({ older: name = "probe", namespace, annotations: given, spec }: (typeof services)[number]) => {
  const annotations = Object.fromEntries(
    Object.entries(given).map(([key, value]) => [`service.beta.kubernetes.io/azure-${key}`, value]),
  );
  const metadata = { name, namespace, annotations };
  return { apiVersion: "v1", kind: "Service", metadata, spec: { ports: [{ port: 80 }], ...spec } };
};

/** Pods that GitOps applies again and again. */
const repeated: Readonly<Record<string, PodCase["spec"]>> = {
  "tolerations and a selector": {
    ...rowOf("the older label").spec,
    tolerations: [{ key: "team", operator: "Exists" }],
  },
  "a required affinity": rowOf("newrelic-infrastructure, its part for the control plane").spec,
};

describe("guard rails on a real API server", function () {
  this.timeout(30 * 60_000);
  let api: ApiServer;

  before(async function () {
    api = await startCluster(this);
    await applied(api, services.filter(({ older }) => older !== undefined).map(serviceOf));
    const spec = exampleSpec("aws-dev");
    const wanted = planOf(spec).filter(({ name }) => ["runtime-classes", "guard-rails", "pod-warnings"].includes(name));
    // Azure's ask for more.
    const ofServices = manifestsOf(exampleSpec("azure-dev")).filter(({ metadata }) =>
      metadata.name.startsWith("fenestra-external-addresses"),
    );
    const manifests = [...wanted.flatMap((each) => each.manifests), ...nodeIdentityPolicies(spec), ...ofServices];
    await applied(api, manifests, "--force-conflicts");
    await policiesInForce(api);
  });

  const onWindows2022 = { os: { name: "windows" }, containers: [{ name: "main", image: "x:ltsc2022" }] };
  const makePod = async (pod: string) => {
    assert.equal(
      (await api.kubectl(["create", "-f", "-"], objectIn(podHomes.pod, "plain", onWindows2022, pod))).code,
      0,
    );
  };
  it("place, warn of and refuse pods as the table says", async () => {
    assert.ok(podTable.length > 70, String(podTable.length));
    assert.deepEqual(differences(podTable, await placed(api, podTable)), []);
  });

  it("refuse to change a pod's image to one of a build that its node is not of", async () => {
    await makePod("changed");
    const change = (image: string) => api.kubectl(["-n", "plain", "set", "image", "pod/changed", `main=${image}`]);
    assert.match((await change("x:ltsc2019")).stderr, /is for windows-2019, but its RuntimeClass/);
    assert.deepEqual(
      [(await change("y:ltsc2022")).code, (await api.kubectl(["-n", "plain", "label", "pod", "changed", "a=b"])).code],
      [0, 0],
    );
    await api.kubectl(["-n", "plain", "delete", "pod", "changed", "--force"]);
  });

  it("refuse to let a pod tolerate the control plane later, which had no affinity to keep it off", async () => {
    assert.equal(
      (await api.kubectl(["create", "-f", "-"], objectIn(podHomes.pod, "plain", rowOf("a Linux pod").spec, "late")))
        .code,
      0,
    );
    const patch = JSON.stringify([{ op: "add", path: "/spec/tolerations/-", value: { operator: "Exists" } }]);
    assert.match(
      (await api.kubectl(["-n", "plain", "patch", "pod", "late", "--type=json", "-p", patch])).stderr,
      /could act as a control-plane machine/,
    );
    await api.kubectl(["-n", "plain", "delete", "pod", "late", "--force"]);
  });

  it("give a DaemonSet back what a change of its template takes", async () => {
    for (const [title, change, kept] of [
      ["a DaemonSet without a selector", { nodeSelector: null }, '"kubernetes.io/os":"windows"'],
      ["a DaemonSet tolerating everything", { affinity: null }, '"fenestra.dev/pool"'],
    ] as const) {
      const { home, namespace, spec } = rowOf(title);
      const path = pathTo(home, namespace);
      assert.ok((await api.send("POST", path, objectIn(home, namespace, spec, "changed"))).taken);
      const text = JSON.stringify({ spec: { template: { spec: change } } });
      const { body } = await api.send("PATCH", `${path}/changed?dryRun=All`, text);
      assert.ok(body.includes(kept), body);
      await api.kubectl(["-n", namespace, "delete", "daemonset", "changed"]);
    }
  });

  it("refuse a gMSA account in an ephemeral container, which the webhook is not asked about", async () => {
    const path = "/api/v1/namespaces/plain/pods/debugged";
    await makePod("debugged");
    const pod = JSON.parse((await api.kubectl(["get", "--raw", path])).stdout);
    const debug = (more: unknown) => {
      const ephemeralContainers = [{ name: "debug", image: "x:ltsc2022", ...Object(more) }];
      const input = JSON.stringify({ ...pod, spec: { ...pod.spec, ephemeralContainers } });
      return api.kubectl(["replace", "--raw", `${path}/ephemeralcontainers`, "-f", "-"], input);
    };
    assert.match(
      (await debug({ securityContext: { windowsOptions: { gmsaCredentialSpec: "{}" } } })).stderr,
      /gMSA account of an init or ephemeral container/,
    );
    assert.equal((await debug({})).code, 0);
    await api.kubectl(["-n", "plain", "delete", "pod", "debugged", "--force"]);
  });

  for (const each of services.filter(({ older }) => older === undefined)) {
    const { is, of, namespace, refused } = each;
    it(`${namespace}: a Service ${of === undefined ? "with" : `${of} gets`} ${is}: ${refused ?? "let in"}`, async () => {
      const path = `/api/v1/namespaces/${namespace}/services${of === undefined ? "" : `/${of}`}?dryRun=All`;
      const { metadata, spec, ...rest } = serviceOf(each);
      const { taken, body } =
        of === undefined
          ? await api.send("POST", path, JSON.stringify({ ...rest, metadata, spec }))
          : await api.send(
              "PATCH",
              path,
              JSON.stringify({ metadata: { annotations: metadata.annotations }, spec: each.spec }),
            );
      assert.equal(taken, refused === undefined, body);
      if (refused !== undefined) assert.ok(JSON.parse(body).message.includes(refused), body);
    });
  }

  it("say the same to whoever applies another kind of object with such pods, one of each policy", async () => {
    for (const home of [podHomes.deploy, podHomes.cj])
      for (const title of [
        ...[
          "an image without a build",
          "a Windows image, opted in",
          "tolerating everything, Windows too, in the system",
        ],
        ...["gmsaCredentialSpec of an init container", "naming a machine of the control plane"],
      ]) {
        const { namespace, spec, place, says } = rowOf(title);
        const { taken, body, warnings } = await tried(api, namespace, spec, home);
        const told = taken ? ofPolicies(warnings) : [JSON.parse(body).message];
        const unsaid = says.filter((text) => !told.join().includes(text.replaceAll("{pod}", home.path)));
        assert.deepEqual(
          [taken, told.length, unsaid],
          [place !== "refused", 1, []],
          `${home.kind}, ${title}: ${told.join("\n")}`,
        );
      }
  });

  it("warn of NetworkPolicies, of memory only where no LimitRange is said to give it, and of what Pod Security refuses", async () => {
    const named = { name: "main", image: "x:ltsc2022", resources: { limits: { memory: "1Gi" } } };
    const rules = { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", spec: { podSelector: {} } };
    const workload = podHomes.deploy.object;
    const [networkpolicies, deployments] = ["apis/networking.k8s.io/v1", "apis/apps/v1"];
    for (const [group, kind, namespace, object, warning] of [
      [networkpolicies, "networkpolicies", "kube-system", rules, /nothing in this cluster enforces NetworkPolicies/],
      [deployments, "deployments", "plain", workload(onWindows2022), /set resources\.limits\.memory/],
      [deployments, "deployments", "memory-defaulted", workload(onWindows2022), undefined],
      ["api/v1", "pods", "memory-defaulted", podHomes.pod.object(onWindows2022), /set resources\.limits\.memory/],
      [
        ...[deployments, "deployments", "restricted"],
        workload({ nodeSelector: { "kubernetes.io/os": "windows" }, containers: [named] }),
        /set spec\.template\.spec\.os\.name: windows, .* PodSecurity/,
      ],
      [
        ...[deployments, "deployments", "unlabelled"],
        workload({ ...rowOf("a Linux pod").spec, hostNetwork: true }),
        /run kubectl label namespace unlabelled --overwrite pod-security\.kubernetes\.io\/enforce=privileged/,
      ],
    ] as const) {
      const text = JSON.stringify({ ...object, metadata: { name: "probe", namespace } });
      const { warnings, body } = await api.send("POST", `/${group}/namespaces/${namespace}/${kind}?dryRun=All`, text);
      const ours = ofPolicies(warnings);
      assert.equal(ours.length, warning === undefined ? 0 : 1, `${kind}: ${ours.join("\n")}${body}`);
      if (warning !== undefined) assert.match(ours.join(), warning);
    }
  });

  it("leave a workload alone whose pods stay as they are, and look again when they change", async () => {
    const labelled = (label: string) =>
      api.kubectl(["label", "namespace", "plain", "--overwrite", `fenestra.dev/host-process${label}`]);
    const row = rowOf("HostProcess");
    const name = "older";
    const patch = (spec: unknown) =>
      api.kubectl(["-n", "plain", "patch", "deployment", name, "-p", JSON.stringify({ spec })]);
    assert.equal((await labelled("=allowed")).code, 0);
    await until("the namespace's label to count", async () => {
      return (await api.kubectl(["apply", "-f", "-"], objectIn(podHomes.deploy, "plain", row.spec, name))).code === 0;
    });
    assert.equal((await labelled("-")).code, 0);
    await until("the label's removal to count", async () => !(await tried(api, "plain", row.spec)).taken);

    const scaled = await patch({ replicas: 3 });
    assert.deepEqual([scaled.code, scaled.stderr], [0, ""]);
    const changed = await patch({ template: { spec: { containers: [{ name: "main", image: "y" }] } } });
    assert.equal(changed.code, 1);
    assert.match(changed.stderr, /fenestra\.dev\/host-process: allowed/);
    await api.kubectl(["-n", "plain", "delete", "deployment", name]);
  });

  for (const [title, spec] of Object.entries(repeated))
    it(`let a pod with ${title} be applied a second time, without a difference`, async () => {
      const text = objectIn(podHomes.pod, "plain", spec, "repeated");
      const again = (verb: string) => api.kubectl([verb, "--server-side", "-f", "-"], text);
      for (const { code, stderr } of [await again("apply"), await again("apply")]) assert.equal(code, 0, stderr);
      // The controllers first write a status.
      await until("no difference", async () => (await again("diff")).code === 0);
      await api.kubectl(["delete", "--force", "-f", "-"], text);
    });

  it("prefer the newest build where any would do, and leave the pod's own order", async () => {
    const order = async (more: object) => {
      const spec = { ...rowOf("an image without a build").spec, ...more };
      return JSON.parse((await tried(api, "plain", spec)).body).spec.affinity.nodeAffinity;
    };
    const prefers = (key: string, operator: string, values: readonly string[], weight: number) => ({
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight, preference: { matchExpressions: [{ key, operator, values }] } },
      ],
    });
    const newest = prefers("node.kubernetes.io/windows-build", "In", ["10.0.20348"], 100);
    assert.deepEqual(await order({}), newest);
    const nodeAffinity = prefers("a", "In", ["b"], 1);
    assert.deepEqual(await order({ affinity: { nodeAffinity } }), nodeAffinity);
  });

  it("take what the manual shows as it is, without a warning", async () => {
    const shown = readDocument("docs/windows-applications.md").blocks.filter(({ language }) => language === "yaml");
    assert.ok(shown.length >= 2);
    for (const { text, line } of shown) {
      const asked = ["apply", "--server-side", "--dry-run=server", "--namespace", "unlabelled", "-f", "-"];
      const { code, stderr } = await api.kubectl(asked, text);
      assert.deepEqual([code, stderr], [0, ""], `line ${line}`);
    }
  });
});
