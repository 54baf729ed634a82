import type { ClassProbe } from "../../gates/policyGate.ts";
import { type WindowsFacts, windowsReleases } from "../../model/operatingSystems.ts";
import { buildLabel, type RuntimeClassFacts, windowsTaint } from "../../model/pools.ts";
import type { Manifest } from "../manifest.ts";
import { runtimeClassFacts } from "../runtimeClasses.ts";
import {
  allContainers,
  choosesWindows,
  isHostProcess,
  meansWindows,
  ofDaemonSet,
  type Placing,
  selectsOs,
  selectsWindows,
  toleratesWindows,
} from "./cel.ts";
import { imageReleases, inOneText, releasesExpression } from "./imageReleases.ts";
import { fits, hasNodeAffinity, knownNodes, knownValues } from "./nodes.ts";
import { add, type Change, mutationManifests, sum, templates, type Variables } from "./policy.ts";
import { text, texts } from "./texts.ts";

/** Releases whose images a node of this one runs in process isolation. */
const runs = ({ name, runsImagesOf }: WindowsFacts): readonly string[] => [name, ...runsImagesOf];

/**
 * The RuntimeClass for images of a release in a cluster with these builds, oldest first; empty when no node can run
 * them.
 */
export function classForImages({ name }: Pick<WindowsFacts, "name">, builds: readonly WindowsFacts[]): string {
  return builds.find((build) => runs(build).includes(name))?.name ?? "";
}

/** Names of the builds, oldest first, for which this CEL is true. */
const buildsWhere = (builds: readonly WindowsFacts[], test: (build: WindowsFacts) => string): string =>
  `[${builds.map((build) => `${test(build)} ? ${text(build.name)} : ""`).join(", ")}].filter(b, b != "")`;

/**
 * The variables that end in `runtimeClass`: the class of a pod that names none, empty for none.
 *
 * @param pod the pod's spec, as CEL
 */
export function windowsVariables(spec: Placing, pod: string): Variables {
  const { windows: builds } = spec;
  const names = texts(builds.map(({ name }) => name));
  const nodes = knownNodes(spec);
  const ofBuild = (build: string) => nodes.windows.filter((labels) => labels[buildLabel] === build);
  return {
    // The mutation comes before the API server's own validation, which says that an image is missing.
    images: `(${allContainers(pod)}).map(c, has(c.image), c.image)`,
    names: inOneText,
    releases: releasesExpression,
    class: `has(${pod}.runtimeClassName) ? ${pod}.runtimeClassName : ""`,
    // Builds whose nodes the pod itself allows, and those that run its images.
    chosen: buildsWhere(builds, ({ name, build }) =>
      [
        `(variables.class == ${text(name)} || !(variables.class in ${names}))`,
        fits(pod, ofBuild(build), knownValues(nodes)),
      ].join(" && "),
    ),
    // Of a class that is not ours, or of Hyper-V isolation, nobody here knows which images it runs.
    ownClass: `variables.class != "" && !(variables.class in ${names})`,
    able: buildsWhere(builds, (build) => `variables.ownClass || variables.releases.all(r, r in ${texts(runs(build))})`),
    builds: "variables.chosen.filter(b, b in variables.able)",
    runtimeClass:
      'variables.builds.size() == 1 || (variables.builds.size() > 1 && variables.releases.size() > 0) ? variables.builds[0] : ""',
  };
}

/**
 * Pods that prove that the policy is in force: an image of every known release and one of none, each with the class
 * that it must get. With every build that a cluster gains or loses one answer changes, so that an earlier policy is not
 * mistaken for the present one.
 */
export function runtimeClassProbes(builds: readonly WindowsFacts[]): readonly ClassProbe[] {
  const [only, ...others] = builds;
  const image = (tag: string): string => `mcr.microsoft.com/windows/nanoserver:${tag}`;
  const probe = (tag: string, name: string): ClassProbe => ({
    image: image(tag),
    runtimeClass: name === "" ? undefined : name,
  });
  return [
    ...windowsReleases.map((release) => probe(release.imageTag, classForImages(release, builds))),
    probe("latest", others.length === 0 ? (only?.name ?? "") : ""),
  ];
}

/** CEL of a value as a patch takes it: lists and maps of CEL have elements of one type each. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((each) => `dyn(${literal(each)})`).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${text(key)}: dyn(${literal(each)})`)
    .join(", ")}}`;
}

/** The pod's toleration of the Windows taint, where it has none. `at` is the path of the pod's spec. */
const tolerate = (at = "spec"): string => {
  const toleration = literal({ ...windowsTaint, operator: "Equal" });
  const path = `/${at.replaceAll(".", "/")}/tolerations`;
  return `variables.tolerates ? [] : has(object.${at}.tolerations) ? [${add(text(`${path}/-`), toleration)}] : [${add(text(path), `[${toleration}]`)}]`;
};

/** The label of Windows nodes in the node selector, which exists. */
const selectWindows = (at = "spec"): string =>
  `[${add(`${text(`/${at.replaceAll(".", "/")}/nodeSelector/`)} + jsonpatch.escapeKey("kubernetes.io/os")`, '"windows"')}]`;

/**
 * Labels that the pod's nodes must have, in place of a class: the scheduler does not look at `spec.os`, so the pod
 * would land on Linux and be rejected by the kubelet repeatedly. One with images of a release that no node runs waits
 * for such a node.
 */
const select = sum(
  `has(object.spec.nodeSelector) || (variables.choosesOs && variables.lacking == "") ? [] : [${add('"/spec/nodeSelector"', "{}")}]`,
  `variables.choosesOs ? [] : ${selectWindows()}`,
  `variables.lacking == "" ? [] : [${add(`"/spec/nodeSelector/" + jsonpatch.escapeKey(${text(buildLabel)})`, "variables.lacking")}]`,
);

interface WindowsChange extends Change {
  readonly variables: Variables;
  /** What it does in affinity for nodes, which must have a place; `undefined` where there is one build. */
  readonly order: Change | undefined;
}

/**
 * Where nodes of several builds would do: the newest first, in affinity for nodes that exists. The pod's own order
 * stays.
 */
function prefer(builds: readonly WindowsFacts[]): string {
  const terms = builds
    .slice(1)
    .map(({ build }, index, { length }) => ({
      weight: Math.round((100 * (index + 1)) / length),
      preference: { matchExpressions: [{ key: buildLabel, operator: "In", values: [build] }] },
    }));
  const field = "preferredDuringSchedulingIgnoredDuringExecution";
  return `${hasNodeAffinity("object.spec", field)} ? [] : [${add(text(`/spec/affinity/nodeAffinity/${field}`), literal(terms))}]`;
}

/**
 * What is missing of a pod that is made: the toleration; the class, whose selector the API server's RuntimeClass
 * admission merges when it runs again, or else a selector and an order of builds. A DaemonSet's pod gets no class: its
 * controller has chosen the node by the template alone (kubernetes/kubernetes,
 * pkg/controller/daemon/daemon_controller.go: NodeShouldRunDaemonPod), and the selector would contradict a node that
 * runs images of an older build. A HostProcess image fits every build.
 */
const placement = sum(
  tolerate(),
  `variables.setsClass ? [${add('"/spec/runtimeClassName"', "variables.runtimeClass")}] : variables.choosesLinux ? [] : ${select}`,
);

/**
 * What placement gave a pod, and an update would take away: `nodeSelector` and `tolerations` are atomic, so whoever
 * applies a pod a second time with values of its own would be refused, because a pod's may not shrink.
 */
function restore(classes: readonly RuntimeClassFacts[]): string {
  const ours = texts([...new Set(classes.flatMap(({ nodeSelector }) => Object.keys(nodeSelector)))]);
  const selector = "object.spec.?nodeSelector.orValue({})";
  const before = "oldObject.spec.?nodeSelector.orValue({})";
  const lostOurs = `${selector}.all(k, k in ${before} && ${selector}[k] == ${before}[k]) && ${before}.all(k, k in ${selector} || k in ${ours})`;
  return sum(
    // Label by label: from 1.37 on the API server makes no JSON of a map that an object has.
    `${selector} != ${before} && ${lostOurs} ? (${sum(
      `has(object.spec.nodeSelector) ? [] : [${add('"/spec/nodeSelector"', "{}")}]`,
      `${before}.transformList(k, v, !(k in ${selector}), ${add('"/spec/nodeSelector/" + jsonpatch.escapeKey(k)', "v")})`,
    )}) : []`,
    `${toleratesWindows("oldObject.spec")} ? (${tolerate()}) : []`,
  );
}

/**
 * Places Windows pods, in every namespace: those of the system need the toleration as well. Only fields that a pod
 * leaves out are set. It may run twice for one pod: the second time nothing is missing.
 */
export function placesWindows(spec: Placing): WindowsChange {
  const builds = spec.windows;
  const pod = "object.spec";
  const classes = runtimeClassFacts(spec);
  const foreign = imageReleases.map(({ name, build }) => `${text(name)}: ${text(build)}`).join(", ");
  const undecided = 'variables.free && variables.class == ""';
  const lacks = `variables.releases.size() == 1 && variables.able.size() == 0 && variables.chosen.size() == ${builds.length}`;
  return {
    // Not a second time for what the first one and the RuntimeClass gave.
    when: `(request.operation == "UPDATE" || !((has(${pod}.runtimeClassName) || ${ofDaemonSet}) && (${toleratesWindows(pod)}) && (${selectsWindows(pod)}))) && (${meansWindows(pod, spec)})`,
    variables: {
      ...windowsVariables(spec, pod),
      tolerates: toleratesWindows(pod),
      choosesOs: selectsWindows(pod),
      choosesLinux: selectsOs(pod, "linux"),
      free: `!(${ofDaemonSet}) && !(${isHostProcess(pod)})`,
      // RuntimeClass admission compares each toleration with each: with thousands of them it would not end in time.
      many: `has(${pod}.tolerations) && ${pod}.tolerations.size() > 1000`,
      fits: `${undecided} && variables.runtimeClass != "" && !variables.choosesLinux`,
      setsClass: "variables.fits && !variables.many",
      release: `variables.fits ? variables.runtimeClass : ${undecided} && ${lacks} ? variables.releases[0] : ""`,
      lacking: `variables.release == "" ? "" : {${foreign}}[variables.release]`,
    },
    patches: `request.operation == "CREATE" ? (${placement}) : (${restore(classes)})`,
    order:
      builds.length < 2
        ? undefined
        : {
            when: 'request.operation == "CREATE" && variables.release == "" && variables.free && variables.class == "" && variables.builds.size() > 1',
            patches: prefer(builds),
          },
  };
}

/**
 * What the template of a DaemonSet leaves out, whose nodes are chosen before a pod exists: without it no node fits, and
 * a set of no pods counts as rolled out for everyone who waits.
 */
export function daemonSetPolicy(spec: Placing): readonly Manifest[] {
  const at = "spec.template.spec";
  const pod = `object.${at}`;
  const none = `has(${pod}.nodeSelector) ? [] : [${add('"/spec/template/spec/nodeSelector"', "{}")}]`;
  return mutationManifests({
    name: "fenestra-windows-daemon-sets",
    resourceRules: [templates("apps", "daemonsets")],
    conditions: { "means-windows": meansWindows(pod, spec) },
    variables: {
      tolerates: toleratesWindows(pod),
      leaves: `!(${choosesWindows(pod, knownNodes(spec))}) && !(${selectsOs(pod, "linux")})`,
    },
    reinvocationPolicy: "IfNeeded",
    patches: sum(tolerate(at), `variables.leaves ? (${sum(none, selectWindows(at))}) : []`),
  });
}
