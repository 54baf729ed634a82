import assert from "node:assert/strict";
import { stageOf } from "../../components/kubernetes/addOn.ts";
import { runtimeClassPolicyName } from "../../components/kubernetes/guardRails/runtimeClassPolicy.ts";
import { type ApiServer, startApiServer, until } from "../support/apiServer.ts";
import { exampleSpec } from "../support/stacks.ts";
import { podTable, tableNamespaces } from "./podTable.ts";
import { combinations, manifestsOf, planOf } from "./switches.ts";

/** An object as the provider sends it: the SDK spells fields of CRD schemas with underscores. */
const sent = (object: unknown): string =>
  JSON.stringify(object).replaceAll("x_kubernetes_preserve_unknown_fields", "x-kubernetes-preserve-unknown-fields");
const list = (objects: readonly string[]): string => `{"apiVersion":"v1","kind":"List","items":[${objects.join(",")}]}`;

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

  before(async () => {
    api = await startApiServer();
  });
  after(async () => {
    // Undefined when the start itself failed.
    await api?.stop();
  });

  it("accepts every object of every combination of switches, strictly", async () => {
    const all = combinations.flatMap(({ spec }) => manifestsOf(spec));
    const unique = [...new Map(all.map((each) => [sent(each), each])).entries()];
    // Objects of the Prometheus operator need its definition, which is not ours to bring.
    const ours = unique.filter(([, each]) => each.kind !== "ServiceMonitor");
    assert.ok(ours.length > 150, `only ${ours.length} objects`);

    const first = new Map(
      ours.filter(([, each]) => stageOf(each.kind) === 0).map(([text, each]) => [each.metadata.name, text]),
    );
    const made = await apply(list([...first.values()]));
    assert.deepEqual([made.code, complaints(made.stdout + made.stderr)], [0, []]);
    await api.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);

    const tried = await apply(list(ours.map(([text]) => text)), "--dry-run=server");
    assert.deepEqual([tried.code, complaints(tried.stdout + tried.stderr)], [0, []]);
    assert.equal(tried.stdout.trim().split("\n").length, ours.length);
  });

  it("refuses an object with a field that does not exist", async () => {
    const [first] = manifestsOf(exampleSpec("aws-dev")).filter(({ kind }) => kind === "DaemonSet");
    assert.ok(first !== undefined);
    const { code, stderr } = await apply(sent({ ...first, spek: {} }), "--dry-run=server");
    assert.equal(code, 1);
    assert.match(stderr, /\.spek: field not declared in schema/);
  });

  describe("guard rails", () => {
    before(async () => {
      const plan = planOf(exampleSpec("aws-dev"));
      const wanted = plan.filter(({ name }) => ["runtime-classes", "guard-rails"].includes(name));
      const { code, stderr } = await apply(list(wanted.flatMap(({ manifests }) => manifests.map(sent))));
      assert.equal(code, 0, stderr);
      const namespaces = Object.entries(tableNamespaces).map(([name, labels]) =>
        sent({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } }),
      );
      assert.equal((await apply(list(namespaces))).code, 0);
      // A policy is in force a moment after it was made: asked by a pod that each of the two kinds must change or refuse.
      await until("the policies to be in force", async () => {
        const probes = podTable.filter(({ title }) =>
          ["an image of 2022", "HostProcess", "naming its node"].includes(title),
        );
        const answers = await Promise.all(probes.map((probe) => create(probe.namespace, probe.spec)));
        return answers.every(
          ({ code: refused, stdout }) => refused !== 0 || stdout.includes('"runtimeClassName": "windows-2022"'),
        );
      });
      await until("the warnings to be in force", async () => {
        const warned = podTable.find(({ title }) => title === "a Windows image without os.name");
        return warned !== undefined && (await create(warned.namespace, warned.spec)).stderr.includes("Warning");
      });
    });

    const create = (namespace: string, spec: Readonly<Record<string, unknown>>) =>
      api.kubectl(
        ["create", "--dry-run=server", "-o", "json", "-f", "-"],
        JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "probe", namespace }, spec }),
      );

    it("compile without a type warning", async () => {
      const read = async (): Promise<readonly { metadata: { name: string }; status?: { typeChecking?: unknown } }[]> =>
        JSON.parse((await api.kubectl(["get", "validatingadmissionpolicies", "-o", "json"])).stdout).items;
      await until("the policies to be checked", async () =>
        (await read()).every(({ status }) => status?.typeChecking !== undefined),
      );
      assert.deepEqual(
        (await read()).map(({ metadata, status }) => [metadata.name, status?.typeChecking]),
        ["fenestra-control-plane", "fenestra-host-process", "fenestra-windows-limits", "fenestra-windows-os-name"].map(
          (name) => [name, {}],
        ),
      );
      const mutating = await api.kubectl(["get", "mutatingadmissionpolicies", "-o", "name"]);
      assert.match(mutating.stdout, new RegExp(`/${runtimeClassPolicyName}\n$`));
    });

    for (const { title, namespace, spec, answer, says } of podTable) {
      it(`${namespace}: ${title}: ${answer}`, async () => {
        const { code, stdout, stderr } = await create(namespace, spec);
        for (const text of says) assert.ok(stderr.includes(text), `${text} is not in\n${stderr}`);
        if (answer === "refused") {
          assert.equal(code, 1);
          return;
        }
        assert.equal(code, 0, stderr);
        assert.equal(stderr.split("\n").filter((line) => line.startsWith("Warning:")).length, says.length, stderr);
        const pod = JSON.parse(stdout);
        assert.equal(pod.spec.runtimeClassName ?? "none", answer);
        if (pod.spec.os?.name !== "windows") return;
        assert.equal(pod.spec.nodeSelector["kubernetes.io/os"], "windows", "the pod could land on Linux");
        if (answer !== "none") {
          const taints = pod.spec.tolerations.filter(({ key }: { key?: string }) => key === "os");
          assert.deepEqual(taints, [{ key: "os", operator: "Equal", value: "windows", effect: "NoSchedule" }]);
        }
      });
    }
  });
});
