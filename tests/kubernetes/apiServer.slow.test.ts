// Sees what nothing faster does: what a real API server says of all objects, and policies of all pods, and where its
// scheduler puts those.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { stageOf } from "../../components/kubernetes/addOn.ts";
import { nodeIdentityPolicies } from "../../components/kubernetes/guardRails/ownNode.ts";
import { placementPolicyName } from "../../components/kubernetes/guardRails.ts";
import { type Manifest, podSpec } from "../../components/kubernetes/manifest.ts";
import { type ApiServer, applied, policiesInForce, typesChecked, until } from "../support/apiServer.ts";
import { exampleSpec } from "../support/stacks.ts";
import { differences, ofPolicies, placed, startCluster, tried } from "./podCluster.ts";
import { objectIn, type PodCase, pathTo, podHomes, podTable } from "./pods.ts";
import { publishedPods } from "./publishedPods.ts";
import { combinations, manifestsOf, planOf } from "./switches.ts";

/** An object as the provider sends it: the SDK spells fields of CRD schemas with underscores. */
const sent = (object: unknown) =>
  JSON.stringify(object).replaceAll(/"x_kubernetes_\w+"/g, (key) => key.replaceAll("_", "-"));
/** Paths of all fields of a value, those of a list's items once. */
const pathsOf = (value: unknown): readonly string[] =>
  typeof value !== "object" || value === null
    ? [typeof value]
    : [
        ...new Set(
          Object.entries(value).flatMap(([key, each]) =>
            pathsOf(each).map((path) => `${Array.isArray(value) ? "" : key}.${path}`),
          ),
        ),
      ].toSorted();
const list = (objects: readonly string[]) => `{"apiVersion":"v1","kind":"List","items":[${objects.join(",")}]}`;

const servicePolicies = (stack: "aws-dev" | "azure-dev") =>
  manifestsOf(exampleSpec(stack)).filter(({ metadata }) => metadata.name.startsWith("fenestra-external-addresses"));

const rowOf = (title: string): PodCase => podTable.find((row) => row.title === `own/${title}`) ?? assert.fail(title);
const { own, others } = Object.groupBy(podTable, ({ title }) => (title.startsWith("own/") ? "own" : "others"));

const services = z
  .array(
    z.object({
      older: z.string().optional(),
      is: z.string().default(""),
      of: z.string().optional(),
      namespace: z.string().default("plain"),
      annotations: z.record(z.string(), z.string().nullable()).default({}),
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

/** kubectl's lines that are no acceptance, without warnings of a placeholder and of namespaces of ours. */
const complaints = (text: string) =>
  text
    .split("\n")
    .filter(
      (line) => line !== "" && !/serverside-applied|x509: malformed certificate|is exempt from Pod Security/.test(line),
    );

describe("in-cluster objects on a real API server", function () {
  this.timeout(30 * 60_000);
  let api: ApiServer;
  const apply = (input: string, ...options: readonly string[]) =>
    api.kubectl(["apply", "--server-side", "--validate=strict", ...options, "-f", "-"], input);

  before(async function () {
    api = await startCluster(this);
  });

  it("accepts every object of every combination of switches, strictly", async () => {
    const all = combinations.flatMap(({ spec }) => manifestsOf(spec));
    // Of one form one object is enough, but for what others need by name and what the server compiles.
    const formOf = (each: Manifest) =>
      /Policy/.test(each.kind) || stageOf(each.kind) === 0
        ? sent(each)
        : `${each.kind} ${JSON.stringify(pathsOf(JSON.parse(sent(each))))}`;
    const unique = [...new Map(all.map((each) => [formOf(each), each])).values()].map(
      (each) => [sent(each), each] as const,
    );
    assert.ok(unique.length > 150, `only ${unique.length} objects`);

    const first = new Map(
      unique.filter(([, each]) => stageOf(each.kind) === 0).map(([text, each]) => [each.metadata.name, text]),
    );
    const made = await apply(list([...first.values()]));
    assert.deepEqual([made.code, complaints(made.stdout + made.stderr)], [0, []]);
    await api.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);

    const tried = await apply(list(unique.map(([text]) => text)), "--dry-run=server");
    assert.deepEqual([tried.code, complaints(tried.stdout + tried.stderr)], [0, []]);
    assert.equal(tried.stdout.trim().split("\n").length, unique.length);
  });

  describe("guard rails", () => {
    before(async () => {
      const before = services.filter(({ older }) => older !== undefined);
      assert.equal((await apply(list(before.map((each) => JSON.stringify(serviceOf(each)))))).code, 0);
      const spec = exampleSpec("aws-dev");
      const plan = planOf({ ...spec, addons: { ...spec.addons, exporters: true } });
      const wanted = plan.filter(({ name }) => ["runtime-classes", "guard-rails", "pod-warnings"].includes(name));
      const manifests = [
        ...wanted.flatMap((each) => each.manifests),
        ...nodeIdentityPolicies(spec),
        ...servicePolicies("azure-dev"),
      ];
      await applied(api, manifests, "--force-conflicts");
      await policiesInForce(api);
    });

    const onWindows2022 = { os: { name: "windows" }, containers: [{ name: "main", image: "x:ltsc2022" }] };
    const makePod = async (pod: string) => {
      const object = objectIn(podHomes.pod, "plain", onWindows2022, pod);
      assert.equal((await api.kubectl(["create", "-f", "-"], object)).code, 0);
    };
    it("compile without a type warning", async () => {
      assert.deepEqual(
        await typesChecked(api),
        [
          ...`control-plane-names csi-nodes external-addresses network-policies node-objects own-node pod-status pod-warnings
            pods service-status static-pods static-pods-of-workers system-pod-warnings windows-macs windows-os-name`.split(
            /\s+/,
          ),
        ].map((name) => [`fenestra-${name}`, {}]),
      );
      const mutating = await api.kubectl(["get", "mutatingadmissionpolicies", "-o", "name"]);
      assert.match(mutating.stdout, new RegExp(`/${placementPolicyName}\n`));
    });

    for (const [whose, cases] of Object.entries({ own: own ?? [], others: others ?? [] }))
      it(`place, warn of and refuse pods as the table says: ${whose}`, async () => {
        assert.ok(cases.length > 50, String(cases.length));
        assert.deepEqual(differences(cases, await placed(api, whose, cases)), []);
      });

    it("refuse to change a pod's image to one of a build that its node is not of", async () => {
      await makePod("changed");
      const change = (image: string) => api.kubectl(["-n", "plain", "set", "image", "pod/changed", `main=${image}`]);
      assert.match((await change("x:ltsc2019")).stderr, /is for windows-2019, but its RuntimeClass/);
      assert.deepEqual(
        [
          (await change("y:ltsc2022")).code,
          (await api.kubectl(["-n", "plain", "label", "pod", "changed", "a=b"])).code,
        ],
        [0, 0],
      );
      await api.kubectl(["-n", "plain", "delete", "pod", "changed", "--force"]);
    });

    it("refuse to let a pod tolerate the control plane later, which had no affinity to keep it off", async () => {
      const pod = objectIn(podHomes.pod, "plain", rowOf("a Linux pod").spec, "late");
      assert.equal((await api.kubectl(["create", "-f", "-"], pod)).code, 0);
      const patch = JSON.stringify([{ op: "add", path: "/spec/tolerations/-", value: { operator: "Exists" } }]);
      const { stderr } = await api.kubectl(["-n", "plain", "patch", "pod", "late", "--type=json", "-p", patch]);
      assert.match(stderr, /could act as a control-plane machine/);
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
      const refused = await debug({ securityContext: { windowsOptions: { gmsaCredentialSpec: "{}" } } });
      assert.match(refused.stderr, /gMSA account of an init or ephemeral container/);
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

    it("look at Azure's annotations on Azure alone", () => {
      const about = (stack: "aws-dev" | "azure-dev") => JSON.stringify(servicePolicies(stack)).includes("azure-");
      assert.deepEqual([about("aws-dev"), about("azure-dev")], [false, true]);
    });

    it("say the same to whoever applies another kind of object with such pods, one of each policy", async () => {
      const titles = [
        ...[
          "a Linux pod",
          "an image of 2022",
          "exec without a time",
          "an image without a build",
          "a Windows image without a place",
        ],
        ...["HostProcess", "naming a machine of the control plane", "gmsaCredentialSpec of an init container"],
        ...["tolerating everything", "tolerating any system", "a Windows image, opted in"],
      ];
      for (const home of Object.values(podHomes))
        for (const { title, namespace, spec, place, says } of titles.map((each) => rowOf(each))) {
          // A DaemonSet's template must say where it runs, which is another warning.
          if (home === podHomes.pod || (home === podHomes.ds && place !== "refused")) continue;
          const { taken, body, warnings } = await tried(api, namespace, spec, home);
          const told = taken ? ofPolicies(warnings) : [JSON.parse(body).message];
          const wanted = says.map((each) => each.replaceAll("{pod}", home.path));
          const unsaid = wanted.filter((text) => !told.some((each) => each.includes(text)));
          assert.deepEqual([taken, unsaid], [place !== "refused", []], `${home.kind}, ${title}: ${told.join("\n")}`);
          if (taken) assert.equal(told.length, wanted.length, told.join("\n"));
        }
    });

    it("have nothing to say of the program's own objects", async () => {
      for (const { title, spec } of combinations.filter(({ title: each }) =>
        /^(aws|azure)-dev, everything on$/.test(each),
      )) {
        const all = manifestsOf(spec);
        const namespaces = all.filter(({ kind }) => kind === "Namespace");
        await applied(api, namespaces, "--force-conflicts");
        const { code, stderr } = await apply(
          list(all.filter((each) => podSpec(each) !== undefined).map(sent)),
          "--dry-run=server",
          "--force-conflicts",
        );
        // The policies are those of a cluster without addons.gmsa.
        const answer = [
          code,
          stderr.split("\n").filter((line) => /AdmissionPolicy(?!.*: Deployment gmsa-)/.test(line)),
        ];
        assert.deepEqual(answer, [0, []], `${title}: ${stderr}`);
      }
    });

    it("warn of NetworkPolicies, and of memory only where no LimitRange is said to give it", async () => {
      const spec = onWindows2022;
      const named = { name: "main", image: "x:ltsc2022", resources: { limits: { memory: "1Gi" } } };
      const unnamed = podHomes.deploy.object({ nodeSelector: { "kubernetes.io/os": "windows" }, containers: [named] });
      const rules = { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", spec: { podSelector: {} } };
      const deployment = podHomes.deploy.object(spec);
      for (const [kinds, namespace, object, warning] of [
        ["networkpolicies", "kube-system", rules, /nothing in this cluster enforces NetworkPolicies/],
        ["deployments", "plain", deployment, /set resources\.limits\.memory/],
        ["deployments", "memory-defaulted", deployment, undefined],
        ["deployments", "restricted", unnamed, /set spec\.template\.spec\.os\.name: windows, .* PodSecurity/],
        ["pods", "memory-defaulted", podHomes.pod.object(spec), /set resources\.limits\.memory/],
      ] as const) {
        const text = JSON.stringify({ ...object, metadata: { name: "probe", namespace } });
        const group =
          kinds === "networkpolicies" ? "apis/networking.k8s.io/v1" : kinds === "pods" ? "api/v1" : "apis/apps/v1";
        const { warnings, body } = await api.send(
          "POST",
          `/${group}/namespaces/${namespace}/${kinds}?dryRun=All`,
          text,
        );
        const ours = ofPolicies(warnings);
        assert.equal(ours.length, warning === undefined ? 0 : 1, `${kinds}: ${ours.join("\n")}${body}`);
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
        const made = await api.kubectl(["apply", "-f", "-"], objectIn(podHomes.deploy, "plain", row.spec, name));
        return made.code === 0;
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

    publishedPods(() => api);
  });
});
