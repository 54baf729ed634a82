import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { loadConfig } from "../../components/config/load.ts";
import { stackNames } from "../../components/config/stackFile.ts";
import { type Manifest, podSpec } from "../../components/kubernetes/manifest.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { minorOf, namedVersions, versions } from "../../components/model/releases.ts";
import { stackConfig, testStacks } from "../support/stacks.ts";
import { combinations, manifestsOf } from "./switches.ts";
import { at, differences, type Facts, factsOf } from "./upstreamFacts.ts";
import { readUpstream } from "./upstreamManifests.ts";

const lock = readUpstream();
const rows = z.record(z.string(), z.array(z.string()));
const table = z
  .strictObject({ counterparts: z.record(z.string(), z.string()), differences: rows })
  .parse(parse(readFileSync("docs/add-ons.yaml", "utf8")));

function read(image: string): Facts | undefined {
  const own = lock[image];
  return own !== undefined && "read" in own ? own.read?.facts : undefined;
}
const everyObject: Facts = Object.assign({}, ...Object.keys(lock).map((image) => at(read(image), "objects")));

/** A workload with its account's rights, and its containers by name, a single one by the workload's. */
function workload(facts: Facts | undefined, name: string, ownName: string): Facts | undefined {
  const { account, containers, ...rest } = at(facts, "workloads", name);
  if (containers === undefined) return undefined;
  const [first, ...more] = Object.values(at(containers));
  return {
    ...rest,
    right: at(facts, "accounts", String(account)),
    ...(more.length > 0 ? at(containers) : { [ownName]: first }),
  };
}

const tight = { allowPrivilegeEscalation: "false", readOnlyRootFilesystem: "true", runAsNonRoot: "true" };
/** What containers on Linux do without of that: with the machine's mounts, devices or network; beside; as root alone. */
const untight: Readonly<Record<string, string>> = {
  "allowPrivilegeEscalation readOnlyRootFilesystem runAsNonRoot": `azure-cni-installer/install
    azure-cni-installer/pause cloud-controller-manager/cloud-controller-manager cloud-node-manager/cloud-node-manager
    csi-azuredisk-node/azuredisk csi-smb-controller/smb csi-smb-node/smb kube-flannel/install-cni-plugin
    kube-flannel/kube-flannel kube-network-policies/kube-network-policies node-problem-detector/node-problem-detector`,
  "allowPrivilegeEscalation runAsNonRoot": "ebs-csi-node/ebs-plugin",
  "readOnlyRootFilesystem runAsNonRoot": "csi-azuredisk-controller/azuredisk",
  runAsNonRoot: `csi-azuredisk-controller/csi-attacher csi-azuredisk-controller/csi-provisioner
    csi-azuredisk-controller/csi-resizer csi-azuredisk-controller/csi-snapshotter csi-azuredisk-controller/liveness-probe
    csi-azuredisk-node/liveness-probe csi-azuredisk-node/node-driver-registrar csi-smb-controller/csi-provisioner
    csi-smb-controller/liveness-probe csi-smb-node/liveness-probe csi-smb-node/node-driver-registrar
    ebs-csi-node/liveness-probe ebs-csi-node/node-driver-registrar
    log-collector-control-plane/log-collector-control-plane log-collector/log-collector`,
};
const mebibytes = (facts: Facts) => {
  const text = String(at(facts, "limits").memory);
  return Number.parseFloat(text) * (text.endsWith("Gi") ? 1024 : 1);
};

/** Where a container has more rights, or less memory, than upstream's. */
function weaker(ours: Facts, theirs: Facts) {
  const [own, other] = [at(ours, "context"), at(theirs, "context")];
  const words = (facts: Facts, key: string): readonly string[] =>
    String(at(facts, "capabilities")[key] ?? "").match(/\w+/g) ?? [];
  return [
    ...Object.entries(tight).flatMap(([key, value]) => (other[key] === value && own[key] !== value ? [key] : [])),
    ...(own.privileged === "true" && other.privileged !== "true" ? ["privileged"] : []),
    ...words(other, "drop").filter((each) => !words(own, "drop").includes(each)),
    ...words(own, "add").filter((each) => !words(other, "add").includes(each)),
    ...(mebibytes(ours) < mebibytes(theirs) ? ["memory"] : []),
  ];
}

/** What is not as upstream has it, and what is weaker. */
function compared(manifests: readonly Manifest[]): {
  readonly found: readonly string[];
  readonly weak: readonly string[];
  readonly loose: readonly string[];
} {
  const [found, weak, loose]: [string[], string[], string[]] = [[], [], []];
  const system = manifests.filter(({ metadata, kind }) => kind !== "Job" && metadata.namespace !== "fenestra-samples");
  const ours = factsOf(JSON.parse(JSON.stringify(system)));
  const upstreams = (name: string) => table.counterparts[name] ?? name;
  for (const each of system) {
    const [pod, { name }] = [podSpec(each), each.metadata];
    if (pod === undefined) continue;
    const images = pod.containers
      .concat(pod.initContainers ?? [])
      .map(({ image }) => String(image).replace(/[:@].*/, ""));
    const upstream = images.map(read).find((facts) => facts !== undefined);
    const own = workload(ours, name, name);
    // Of one name on both clouds.
    const their = workload(upstream, upstreams(name), name) ?? workload(upstream, name, name);
    if (upstream !== undefined) found.push(...differences(own, their, name));
    // Nobody's manifest has these accounts.
    if (their === undefined) found.push(...differences(at(own, "right"), {}, `${name}/right`));
    for (const container of Object.keys(own ?? {}).filter((key) => "flags" in at(own, key))) {
      const [facts, other] = [at(own, container), at(their, container)];
      if (Object.keys(at(facts, "context")).length === 0) found.push(`${name}/${container}: no security context`);
      // Windows has no such rights to give up.
      if (pod.os?.name === "windows") continue;
      const lacks = Object.entries(tight).flatMap(([key, value]) => (at(facts, "context")[key] === value ? [] : [key]));
      if (lacks.length > 0) loose.push(`${lacks.join(" ")}: ${name}/${container}`);
      if ("flags" in other) weak.push(...weaker(facts, other).map((what) => `${name}/${container}: ${what}`));
    }
  }
  for (const [name, facts] of Object.entries(at(ours, "objects")))
    found.push(...differences(facts, everyObject[upstreams(name)], name));
  return { found, weak, loose };
}

describe("add-ons", () => {
  const specs = [
    ...combinations.map(({ spec }) => spec),
    ...stackNames(testStacks).map((name) => clusterSpec(loadConfig(stackConfig(name)))),
  ];
  const all = specs.map((spec) => compared(manifestsOf(spec)));
  const found = [...new Set(all.flatMap((each) => each.found))].toSorted();
  const patterns = Object.values(table.differences).flat();
  // A row for a whole object gives no right.
  const matches = (pattern: string, line: string) =>
    line.includes("/right/") === pattern.includes("/right/") &&
    new RegExp(
      `^${pattern
        .split("*")
        .map((each) => each.replaceAll(/[\\^$.|?+()[\]{}]/g, "\\$&"))
        .join(".*")}$`,
      "s",
    ).test(line);

  it("have upstream's manifests read at a minor that is pinned, of every image, or a reason", () => {
    const images = [versions.images, ...Object.values(versions.networks)].flatMap((section) => Object.keys(section));
    const wanted = images.filter((name) => name.includes("/")).toSorted();
    assert.deepEqual(
      Object.keys(lock).toSorted(),
      wanted,
      "cli/with-node tests/kubernetes/upstreamManifests.ts --image NAME",
    );
    for (const [image, own] of Object.entries(lock))
      if ("repository" in own) {
        // Read at a patch; a version moved since has its minor's, or another minor's.
        assert.ok(
          namedVersions()
            .filter(({ name, os }) => name === image && os !== "windows")
            .some(({ version }) => minorOf(version) === minorOf(own.read?.version ?? "")),
          image,
        );
      }
  });

  it("differ from them as docs/add-ons.yaml says, each difference with its reason", () => {
    assert.deepEqual(
      found.filter((line) => !patterns.some((pattern) => matches(pattern, line))),
      [],
      "rows that are missing there",
    );
  });

  it("have no row there without a difference", () => {
    assert.deepEqual(
      patterns.filter((pattern) => !found.some((line) => matches(pattern, line))),
      [],
    );
  });

  it("give up on Linux what they do not need of their machine, but for these", () => {
    const wanted = Object.entries(untight).flatMap(([lacks, names]) =>
      names.split(/\s+/).map((name) => `${lacks}: ${name}`),
    );
    assert.deepEqual([...new Set(all.flatMap((each) => each.loose))].toSorted(), wanted.toSorted());
  });

  it("have no container on Linux with more rights or less memory than upstream's", () => {
    assert.deepEqual([...new Set(all.flatMap((each) => each.weak))], []);
  });
});
