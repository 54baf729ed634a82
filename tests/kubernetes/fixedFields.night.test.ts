import assert from "node:assert/strict";
import { fixedFields, stageOf } from "../../components/kubernetes/addOn.ts";
import type { Manifest } from "../../components/kubernetes/manifest.ts";
import { replacementRow } from "../../plan/replacement/table.ts";
import { type ApiServer, startApiServer } from "../support/apiServer.ts";
import { combinations, manifestsOf } from "./switches.ts";

/** What stays refused, since a replacement would delete data; see `fixedFields`. */
const refusedOnPurpose: Readonly<Record<string, readonly string[]>> = {
  PersistentVolumeClaim: ["spec", "spec.resources.requests.storage"],
  CustomResourceDefinition: ["spec.scope", "spec.names.kind", "spec.names.plural", "spec.group", "metadata.name"],
};

const providerReplaces = ({ apiVersion, kind }: Manifest): readonly string[] =>
  replacementRow(`kubernetes:${apiVersion === "v1" ? "core/v1" : apiVersion}:${kind}`)?.replaces ?? [];

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
const json = (value: unknown): Json =>
  JSON.parse(JSON.stringify(value).replaceAll(/"x_kubernetes_\w+"/g, (key) => key.replaceAll("_", "-")));
const isMap = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Another value, which the server takes if it takes any change. */
function other(value: Json): Json {
  const swaps = [
    ["Delete", "Retain"],
    ["Immediate", "WaitForFirstConsumer"],
    ["Persistent", "Ephemeral"],
    ["4Gi", "2Gi"],
    ["Cluster", "Namespaced"],
  ];
  for (const [a = "", b = ""] of swaps) if (value === a || value === b) return value === a ? b : a;
  if (typeof value === "boolean") return !value;
  if (typeof value === "number") return value + 1;
  if (typeof value === "string") return `${value}x`;
  return value;
}

/** The object with another value in one field, once for each but those of metadata. */
function* changed(value: Json): Generator<Json> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const next of changed(item)) yield value.map((each, at) => (at === index ? next : each));
  } else if (isMap(value)) {
    for (const [key, item] of Object.entries(value)) {
      if (["apiVersion", "kind", "metadata"].includes(key)) continue;
      for (const next of changed(item)) yield { ...value, [key]: next };
    }
  } else yield other(value);
}

/** Paths of fields that the server says cannot change; it calls `attachRequired` otherwise there. */
function refusedPaths(stderr: string): readonly string[] {
  const findings = stderr.split(/(?<![\w.\]])(?=[a-z]\w*(?:\.\w+|\[\w+\])*: (?:Invalid value|Forbidden):)/);
  const refused = findings.filter((text) => /immutable|cannot change|can not be less/.test(text));
  const paths = refused.map((text) => text.slice(0, text.indexOf(":")).replace("attachedRequired", "attachRequired"));
  return [...new Set(paths)];
}

describe("fields that the API server refuses to change", function () {
  this.timeout(30 * 60_000);
  let api: ApiServer;
  const apply = (objects: readonly Json[], ...options: readonly string[]) =>
    api.kubectl(
      ["apply", "--server-side", "--force-conflicts", ...options, "-f", "-"],
      JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
    );

  before(async function () {
    api = await startApiServer(this);
  });

  it("replace their object, or are the ones that hold data: every field of every kind", async () => {
    const all = combinations
      .flatMap(({ spec }) => manifestsOf(spec))
      .filter(({ kind }) => !["GMSACredentialSpec", "VolumeSnapshotClass"].includes(kind));
    const examples = new Map<string, Manifest>();
    for (const each of all) if (!examples.has(each.kind)) examples.set(each.kind, each);
    // A share's class and driver have more fields.
    for (const each of all)
      if (["files", "smb.csi.k8s.io"].includes(each.metadata.name))
        examples.set(`${each.kind} ${each.metadata.name}`, each);
    const namespaces = all.filter(({ kind }) => stageOf(kind) === 0);
    const homes = await apply(namespaces.map(json));
    assert.equal(homes.code, 0, homes.stderr);
    const made = await apply([...examples.values()].map(json));
    assert.equal(made.code, 0, made.stderr);
    await api.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);

    const found = new Map<string, Set<string>>();
    const replaced = new Map<string, readonly string[]>(
      [...examples.values()].map((each) => [each.kind, providerReplaces(each)]),
    );
    for (const each of examples.values()) {
      const { stderr } = await apply([...changed(json(each))], "--dry-run=server");
      found.set(each.kind, new Set([...(found.get(each.kind) ?? []), ...refusedPaths(stderr)]));
    }
    const uncovered = [...found].flatMap(([kind, paths]) => {
      const covered = [
        ...(replaced.get(kind) ?? []),
        ...(Object.entries(fixedFields).find(([name]) => name === kind)?.[1] ?? []),
        ...(refusedOnPurpose[kind] ?? []),
      ];
      return [...paths]
        .filter((path) => !covered.some((known) => path === known || path.startsWith(`${known}.`)))
        .map((path) => `${kind}: ${path}`);
    });
    assert.deepEqual(uncovered, []);
    // The examples reach each entry.
    for (const [kind, fields] of Object.entries(fixedFields))
      for (const field of fields)
        assert.ok(
          found.get(kind)?.has(field),
          `${kind}: ${field} is not refused: ${[...(found.get(kind) ?? [])].join(", ")}`,
        );
    for (const [kind, field] of [
      ["StorageClass", "parameters"],
      ["Deployment", "spec.selector"],
      ["Job", "spec.template"],
      ["RoleBinding", "roleRef"],
    ] as const)
      assert.ok(found.get(kind)?.has(field), `${kind}: ${field}: ${[...(found.get(kind) ?? [])].join(", ")}`);
  });
});
