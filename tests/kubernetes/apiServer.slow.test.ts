// Sees what nothing faster does: what a real API server says of all objects, and policies of all pods.
import assert from "node:assert/strict";
import { stageOf } from "../../components/kubernetes/addOn.ts";
import { nodeIdentityPolicies } from "../../components/kubernetes/guardRails/ownNode.ts";
import { placementPolicyName } from "../../components/kubernetes/guardRails.ts";
import { type Manifest, podSpec } from "../../components/kubernetes/manifest.ts";
import {
  type ApiServer,
  applied,
  namespaceOf,
  policiesInForce,
  startApiServer,
  typesChecked,
  until,
} from "../support/apiServer.ts";
import { exampleSpec } from "../support/stacks.ts";
import { daemonSetTable, type PodCase, type PodHome, podHomes, podTable, tableNamespaces } from "./podTable.ts";
import { olderServices, type ServicePart, serviceTable } from "./serviceTable.ts";
import { combinations, manifestsOf, planOf } from "./switches.ts";

/** An object as the provider sends it: the SDK spells fields of CRD schemas with underscores. */
const sent = (object: unknown): string =>
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
const list = (objects: readonly string[]): string => `{"apiVersion":"v1","kind":"List","items":[${objects.join(",")}]}`;

const servicePolicies = (stack: "aws-dev" | "azure-dev") =>
  manifestsOf(exampleSpec(stack)).filter(({ metadata }) => metadata.name.startsWith("fenestra-external-addresses"));

const rowOf = (title: string, table = podTable): PodCase =>
  table.find((row) => row.title === title) ?? assert.fail(title);

/** kubectl's lines that are no acceptance, without the placeholder certificate's warning. */
const complaints = (text: string): readonly string[] =>
  text
    .split("\n")
    .filter(
      (line) => line !== "" && !line.includes("serverside-applied") && !line.includes("x509: malformed certificate"),
    );

describe("in-cluster objects on a real API server", function () {
  // The first run on a machine builds the programs.
  this.timeout(30 * 60_000);
  let api: ApiServer;
  const apply = (input: string, ...options: readonly string[]) =>
    api.kubectl(["apply", "--server-side", "--validate=strict", ...options, "-f", "-"], input);

  before(async function () {
    api = await startApiServer(this);
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
    const serviceIn = (namespace: string, name: string, { metadata, spec }: ServicePart): string =>
      JSON.stringify({
        apiVersion: "v1",
        kind: "Service",
        metadata: { ...metadata, name, namespace },
        spec: { ports: [{ port: 80 }], ...spec },
      });

    before(async () => {
      await applied(
        api,
        Object.entries(tableNamespaces).map(([name, labels]) => namespaceOf(name, labels)),
      );
      const older = Object.entries(olderServices).map(([name, service]) => serviceIn("plain", name, service));
      assert.equal((await apply(list(older))).code, 0);
      const spec = exampleSpec("aws-dev");
      const plan = planOf({ ...spec, addons: { ...spec.addons, exporters: true } });
      const wanted = plan.filter(({ name }) => ["runtime-classes", "guard-rails", "pod-warnings"].includes(name));
      const manifests = [
        ...wanted.flatMap((each) => each.manifests),
        ...nodeIdentityPolicies(spec),
        ...servicePolicies("azure-dev"),
      ];
      const labels = { "node-role.kubernetes.io/control-plane": "" };
      const node = { apiVersion: "v1", kind: "Node", metadata: { name: "control", labels } };
      await applied(api, [...manifests, node], "--force-conflicts");
      await policiesInForce(api);
    });

    const objectIn = (home: PodHome, namespace: string, spec: PodCase["spec"], name = "probe"): string =>
      JSON.stringify({ ...home.object(spec), metadata: { name, namespace } });
    const onWindows2022 = { os: { name: "windows" }, containers: [{ name: "main", image: "x:ltsc2022" }] };
    const makePod = async (pod: string): Promise<void> => {
      const object = objectIn(podHomes.Pod, "plain", onWindows2022, pod);
      assert.equal((await api.kubectl(["create", "-f", "-"], object)).code, 0);
    };
    /** Path to which objects of a kind are sent on trial. */
    const tried = (apiVersion: string, namespace: string, kinds: string): string =>
      `/${apiVersion === "v1" ? "api" : "apis"}/${apiVersion}/namespaces/${namespace}/${kinds}?dryRun=All`;
    const create = (namespace: string, spec: PodCase["spec"], home = podHomes.Pod) =>
      api.send(
        "POST",
        tried(String(home.object(spec).apiVersion), namespace, `${home.kind.toLowerCase()}s`),
        objectIn(home, namespace, spec),
      );
    /** Checks the answer to a row's pod in an object of some kind. */
    const judge = async ({ title, namespace, spec, answer, says }: PodCase, home: PodHome): Promise<string> => {
      const { taken, body, warnings } = await create(namespace, spec, home);
      const told = taken ? warnings : [JSON.parse(body).message];
      for (const text of says.map((each) => each.replaceAll("{pod}", home.path)))
        assert.ok(
          told.some((each) => each.includes(text)),
          `${home.kind}, ${title}: ${text} is not in\n${told.join("\n")}`,
        );
      assert.equal(taken, answer !== "refused", `${home.kind}, ${title}: ${told.join("\n")}`);
      // The API server itself warns of deprecated labels.
      if (taken)
        assert.equal(warnings.filter((each) => !each.includes("deprecated")).length, says.length, warnings.join("\n"));
      return body;
    };

    it("compile without a type warning", async () => {
      assert.deepEqual(
        await typesChecked(api),
        [
          ...`control-plane-names external-addresses network-policies node-objects own-node pod-status pod-warnings
            pods service-status static-pods static-pods-of-workers system-pod-warnings windows-macs windows-os-name`.split(
            /\s+/,
          ),
        ].map((name) => [`fenestra-${name}`, {}]),
      );
      const mutating = await api.kubectl(["get", "mutatingadmissionpolicies", "-o", "name"]);
      assert.match(mutating.stdout, new RegExp(`/${placementPolicyName}\n`));
    });

    for (const row of podTable) {
      const { title, namespace, answer } = row;
      it(`${namespace}: ${title}: ${answer}`, async () => {
        const stdout = await judge(row, podHomes.Pod);
        if (answer === "refused") return;
        const pod = JSON.parse(stdout);
        assert.equal(pod.spec.runtimeClassName ?? "none", answer);
        const { tolerations = [], nodeSelector = {} } = pod.spec;
        const tolerates = tolerations.some(
          ({ key, value }: { key?: string; value?: string }) =>
            key === undefined || (key === "os" && value !== "Windows"),
        );
        if (nodeSelector["kubernetes.io/os"] === "windows") assert.ok(tolerates, "the pod would wait");
        else if (answer !== "none" || row.spec.os !== undefined) assert.fail("the pod could land on Linux");
      });
    }

    for (const row of daemonSetTable)
      it(`look into a DaemonSet: ${row.title}: ${row.answer}`, async () => {
        await judge(row, podHomes.DaemonSet);
      });

    it("let in whoever follows a refusal's advice", async () => {
      const without = (spec: PodCase["spec"], ...fields: readonly string[]): PodCase["spec"] =>
        Object.fromEntries(Object.entries(spec).filter(([field]) => !fields.includes(field)));
      const advice: readonly (readonly [says: RegExp, follow: (spec: PodCase["spec"]) => PodCase["spec"]])[] = [
        [/use images of one release/, (spec) => ({ ...spec, containers: [Object(spec.containers)[0]] })],
        [/leave spec.runtimeClassName and the label/, (spec) => without(spec, "runtimeClassName", "nodeSelector")],
        [/leave gmsaCredentialSpecName/, (spec) => ({ ...without(spec, "initContainers"), ...account })],
        [/leave it out/, (spec) => without(spec, "nodeName")],
        [/set spec.os.name: windows/, (spec) => ({ ...spec, os: { name: "windows" } })],
        [/kubectl label namespace/, (spec) => spec],
      ];
      const account = { securityContext: { windowsOptions: { gmsaCredentialSpecName: "web" } } };
      for (const [index, row] of podTable.entries()) {
        if (row.answer !== "refused" || /PodSecurity|runhcs/.test(row.says.join())) continue;
        const namespace = `advice-${index}`;
        // The advice must replace a value.
        const labels = { "pod-security.kubernetes.io/warn": "baseline", ...tableNamespaces[row.namespace] };
        await applied(api, [namespaceOf(namespace, labels)]);
        const refused = JSON.parse((await create(namespace, row.spec)).body).message;
        const [, follow] = advice.find(([says]) => says.test(refused)) ?? assert.fail(refused);
        const [, command] = /: kubectl (label namespace .*)$/.exec(refused) ?? [];
        if (command !== undefined) assert.equal((await api.kubectl(command.split(" "))).code, 0);
        // A label is seen a moment later.
        await until(`${row.title}: ${refused}`, async () => (await create(namespace, follow(row.spec))).taken);
      }
    });

    it("say it no more to whoever follows a warning's advice", async () => {
      type Follow = (spec: PodCase["spec"], warning: string) => unknown;
      /** With each object at any depth as `change` makes it. */
      const everywhere = (value: unknown, change: (object: object) => object): unknown =>
        Array.isArray(value)
          ? value.map((each) => everywhere(each, change))
          : typeof value === "object" && value !== null
            ? Object.fromEntries(Object.entries(change(value)).map(([key, each]) => [key, everywhere(each, change)]))
            : value;
      const leave = (spec: PodCase["spec"], fields: readonly string[]): unknown =>
        everywhere(spec, (each) => Object.fromEntries(Object.entries(each).filter(([key]) => !fields.includes(key))));
      /** What the advice names. */
      const named = (warning: string, pattern: RegExp): string => pattern.exec(warning)?.[1] ?? assert.fail(warning);
      const probing: Follow = (spec, warning) => {
        const exec = {
          exec: { command: ["a"] },
          timeoutSeconds: Number(named(warning, /timeoutSeconds(?: to|:) (\d+) or/)),
        };
        const asked = (key: string) =>
          key === "preStop" ? { exec: exec.exec } : key.endsWith("Probe") ? exec : undefined;
        return everywhere(spec, (each) =>
          Object.fromEntries(Object.entries(each).map(([key, value]) => [key, asked(key) ?? value])),
        );
      };
      const advice: readonly (readonly [says: RegExp, follow: Follow])[] = [
        [
          /promise: .*Leave them out/,
          (spec, warning) =>
            leave(
              spec,
              /promise: ([^:]*?)\. Leave/
                .exec(warning)?.[1]
                ?.split(", ")
                .map((each) => each.replace(/.*\./, "")) ?? [],
            ),
        ],
        // What an administrator does lets the pod in as it is.
        [/sets addons.gmsa in the stack file/, (spec) => leave(spec, ["gmsaCredentialSpecName"])],
        [/set timeoutSeconds to \d+ or more/, probing],
        [/use exec with timeoutSeconds: \d+ or more/, probing],
        [/makes no host ports/, (spec) => leave(spec, ["hostPort"])],
        [/dnsPolicy to None with .* or leave it out/, (spec) => leave(spec, ["dnsPolicy"])],
        [
          /set storageClassName: \w+ in every/,
          (spec, warning) => {
            const storageClassName = named(warning, /storageClassName: (\w+)/);
            return everywhere(spec, (each) => ("accessModes" in each ? { ...each, storageClassName } : each));
          },
        ],
        [
          /set spec.runtimeClassName to one of/,
          (spec, warning) => ({ ...spec, runtimeClassName: named(warning, /to one of ([\w-]+)/) }),
        ],
        [
          /set spec.nodeSelector to kubernetes.io.os: \w+/,
          (spec, warning) => ({ ...spec, nodeSelector: { "kubernetes.io/os": named(warning, /io.os: (\w+)/) } }),
        ],
        [/use an image for one of/, (spec) => ({ ...leaveSelector(spec), containers: onWindows2022.containers })],
        [/: lower it/, (spec) => leave(spec, ["ephemeral-storage"])],
      ];
      const leaveSelector = ({ nodeSelector: _, ...spec }: PodCase["spec"]) => spec;
      const ours = (warnings: readonly string[]) =>
        warnings.filter((each) => each.includes("ValidatingAdmissionPolicy"));
      const followed = new Set<RegExp>();
      for (const row of podTable.filter(({ answer, says }) => answer !== "refused" && says.length > 0)) {
        for (const warning of ours((await create(row.namespace, row.spec)).warnings)) {
          const [says, follow] = advice.find(([each]) => each.test(warning)) ?? assert.fail(warning);
          followed.add(says);
          const { taken, body, warnings } = await create(row.namespace, Object(follow(row.spec, warning)));
          assert.ok(taken, `${row.title}: ${warning}: ${body}`);
          assert.deepEqual(
            ours(warnings).filter((each) => says.test(each)),
            [],
            `${row.title}: ${warning}`,
          );
        }
      }
      assert.deepEqual(
        advice.filter(([says]) => !followed.has(says)),
        [],
      );
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

    for (const { title, namespace, service, of, refusal } of serviceTable)
      it(`${namespace}: a Service ${of === undefined ? "with" : `${of} gets`} ${title}: ${refusal === undefined ? "let in" : "refused"}`, async () => {
        const path = tried("v1", namespace, of === undefined ? "services" : `services/${of}`);
        const { taken, body } =
          of === undefined
            ? await api.send("POST", path, serviceIn(namespace, "probe", service))
            : await api.send("PATCH", path, JSON.stringify(service));
        assert.equal(taken, refusal === undefined, body);
        if (refusal !== undefined) assert.ok(JSON.parse(body).message.includes(refusal), body);
      });

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
        ...["tolerating everything", "tolerating any system"],
      ];
      const rows = titles.map((title) => rowOf(title));
      // A DaemonSet's template must say where it runs, which is another warning.
      for (const home of Object.values(podHomes))
        for (const row of rows)
          if (home.kind !== "Pod" && (home.kind !== "DaemonSet" || row.answer === "refused")) await judge(row, home);
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

    it("warn of claims without a class, of NetworkPolicies, and of memory only where no LimitRange is said to give it", async () => {
      const spec = onWindows2022;
      const named = { name: "main", image: "x:ltsc2022", resources: { limits: { memory: "1Gi" } } };
      const set = podHomes.StatefulSet.object({ ...spec, containers: [named] });
      const claims = (storageClassName?: string) => [
        {
          metadata: { name: "data" },
          spec: { storageClassName, accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      ];
      const sets = (storageClassName?: string) => ({
        ...set,
        spec: { ...Object(set.spec), volumeClaimTemplates: claims(storageClassName) },
      });
      const unnamed = podHomes.Deployment.object({
        nodeSelector: { "kubernetes.io/os": "windows" },
        containers: [named],
      });
      const rules = { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", spec: { podSelector: {} } };
      const deployment = podHomes.Deployment.object(spec);
      for (const [kinds, namespace, object, warning] of [
        ["statefulsets", "plain", sets(), /set storageClassName: windows/],
        ["statefulsets", "plain", sets("linux"), /set storageClassName: windows/],
        ["statefulsets", "plain", sets("windows"), undefined],
        ["networkpolicies", "kube-system", rules, /nothing in this cluster enforces NetworkPolicies/],
        ["deployments", "plain", deployment, /set resources\.limits\.memory/],
        ["deployments", "memory-defaulted", deployment, undefined],
        ["deployments", "restricted", unnamed, /set spec\.template\.spec\.os\.name: windows, .* PodSecurity/],
        ["pods", "memory-defaulted", podHomes.Pod.object(spec), /set resources\.limits\.memory/],
      ] as const) {
        const text = JSON.stringify({ ...object, metadata: { name: "probe", namespace } });
        const { warnings, body } = await api.send(
          "POST",
          tried(String(Object(object).apiVersion), namespace, kinds),
          text,
        );
        const ours = warnings.filter((each) => each.includes("ValidatingAdmissionPolicy"));
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
        const made = await api.kubectl(["apply", "-f", "-"], objectIn(podHomes.Deployment, "plain", row.spec, name));
        return made.code === 0;
      });
      assert.equal((await labelled("-")).code, 0);
      await until("the label's removal to count", async () => !(await create("plain", row.spec)).taken);

      const scaled = await patch({ replicas: 3 });
      assert.deepEqual([scaled.code, scaled.stderr], [0, ""]);
      const changed = await patch({ template: { spec: { containers: [{ name: "main", image: "y" }] } } });
      assert.equal(changed.code, 1);
      assert.match(changed.stderr, /fenestra\.dev\/host-process: allowed/);
      await api.kubectl(["-n", "plain", "delete", "deployment", name]);
    });
  });
});
