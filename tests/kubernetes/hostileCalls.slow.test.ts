import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import * as models from "@kubernetes/client-node";
import { minorOf, minors, namedVersions } from "../../components/model/releases.ts";
import { type Call, calls, table } from "./hostileCalls.ts";

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
function fieldsOf({ path, body }: Call): readonly string[] {
  const resource = Object.keys(written).find((name) => path.split("/").includes(name));
  return Object.entries(JSON.parse(body)).flatMap(([part, value]) => [
    `${resource}  ${part}`,
    ...Object.keys(Object(value)).map((name) => `${resource} ${part} ${name}`),
  ]);
}

/** How each language reads a field, and of which part of an object where that is said. */
const readings: Readonly<Record<string, readonly RegExp[]>> = {
  ts: [/\b(?<part>metadata|spec|status)[?!]?\.(?<name>\w+)/g, /, "(?<name>\w+)"\)/g],
  py: [/(?:\.get\(|\[)"(?<name>\w+)"/g],
  sh: [/\.(?<part>metadata|spec|status)\.(?<name>\w+)/g],
  ps1: [/\.(?<part>metadata|spec|status)\.(?<name>\w+)/g],
};
const ours = globSync([
  ...[
    "components/{gates,podNetworks}/**/*",
    "components/nodeController/program/*.py",
    "components/machine/**/scripts/**/*",
  ],
  ...["check/*.ts", "check/cluster/*.ts", "cli/**/*.ts"],
])
  .filter((file) => /\w\.(ts|py|sh|ps1)$/.test(file))
  .toSorted();

/** The fields of a machine's objects that a program reads. */
function readOf(file: string, text: string): readonly string[] {
  const patterns = readings[/\w+$/.exec(file)?.[0] ?? ""] ?? [];
  const found = patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].flatMap(({ groups: { part, name } = {} }) =>
      known.some((each) => each.endsWith(part === undefined ? ` ${name}` : ` ${part} ${name}`) && !/^events/.test(each))
        ? [name ?? ""]
        : [],
    ),
  );
  return [...new Set(found)].toSorted();
}

/** Of `NAME@MINOR: { FILE: FIELDS }`. */
const upstream = Object.entries(table.upstream).flatMap(([program, files]) =>
  Object.entries(files).map(([file, fields]) => ({ program, file, fields: fields.split(" ") })),
);

describe("what a machine writes", () => {
  it("is tried in each field that the API has", () => {
    const tried = new Set(calls.flatMap(fieldsOf));
    const others = /^events {2}(apiVersion|kind)$/;
    assert.deepEqual(
      known.filter((each) => !tried.has(each) && !others.test(each)),
      [],
    );
  });

  it("is read by our programs as the table says", () => {
    const read = ours.flatMap((file) => {
      const fields = readOf(file, readFileSync(file, "utf8"));
      return fields.length === 0 ? [] : [[file, fields.join(" ")]];
    });
    assert.deepEqual(table.readers, Object.fromEntries(read));
  });

  it("is read by upstream's programs at versions that are pinned, in fields that are tried", () => {
    const pinned = [
      ...namedVersions().map(({ name, version }) => `${name.split("/").at(-1)}@${minorOf(version)}`),
      ...minors.map(({ minor }) => `kubernetes@${minor}`),
    ];
    for (const { program, file, fields } of upstream) {
      assert.ok(pinned.includes(program.split("/").at(-1) ?? ""), `${program} is not pinned: read ${file} again`);
      for (const name of fields)
        assert.ok(
          known.some((each) => each.endsWith(` ${name}`)),
          `${file}: ${name}`,
        );
    }
  });

  it("is Kubernetes' to refuse, or reaches no other machine, or docs/security.md says how far", () => {
    const docs = readFileSync("docs/security.md", "utf8").replaceAll(/\s+/g, " ");
    for (const { value, may, reach = "" } of calls) {
      const worker = may.some((who) => who !== "control plane");
      assert.equal(worker, !["", "upstream"].includes(reach), value);
      assert.ok(["", "own", "upstream"].includes(reach) || docs.includes(reach), `${value}: ${reach}`);
    }
  });
});

describe("Kubernetes' own programs", () => {
  const modules = `${process.env.GOMODCACHE ?? `${process.env.GOPATH ?? `${homedir()}/go`}/pkg/mod`}/k8s.io`;
  for (const { program, file, fields } of upstream.filter((each) => each.program.startsWith("kubernetes@")))
    it(`read in ${file} what the table says`, function () {
      const [version = ""] = program.split("@").slice(1);
      const [folder] = globSync(
        `${modules}/${file.includes("/") ? "kubernetes@v1" : `${file}@v0`}${version.slice(1)}.*`,
      );
      if (folder === undefined) return this.skip();
      const texts = globSync(`${folder}/${file.includes("/") ? `${file}/` : ""}**/*.go`)
        .filter((each) => !/_test\.go$|\/testing\//.test(each))
        .map((each) => readFileSync(each, "utf8"));
      const found = texts.flatMap((text) =>
        [
          ...text.matchAll(
            /\b(?:n|p|nodeObj|\w*[nN]ode|\w*[pP]od|\w*[lL]ease|Node\(\))\.(?:(?:Status|Spec)\.|(?=Labels|Annotations))([A-Z]\w+)/g,
          ),
        ].map(([, name = ""]) => `${name[0]?.toLowerCase()}${name.slice(1)}`),
      );
      assert.deepEqual(
        [...new Set(found)].filter((name) => known.some((each) => each.endsWith(` ${name}`))).toSorted(),
        fields,
      );
    });
});
