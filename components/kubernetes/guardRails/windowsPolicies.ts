import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { buildLabel } from "../../model/pools.ts";
import {
  allContainers,
  meansContainers,
  meansWindows,
  ofDaemonSet,
  saysWindows,
  selectsOs,
  toleratesWindows,
} from "./cel.ts";
import { multiPlatform, windowsOnly } from "./imageReleases.ts";
import { affinityTerms, fits, knownNodes, knownValues, osLabels, strictly } from "./nodes.ts";
import { type PodPolicy, type PodRule, pod } from "./podPolicy.ts";
import { type Binding, namespaceLabels, notSystem, type Requirement } from "./policy.ts";
import { windowsVariables } from "./runtimeClassPolicy.ts";
import { text, texts } from "./texts.ts";
import { ignored, windowsLimits } from "./windowsLimits.ts";

type Spec = Pick<ClusterSpec, "addons" | "kubernetes" | "pools" | "windows">;

const joined = (name: string): string => `variables.${name}.join(", ")`;
const warns = ["Warn", "Audit"] as const;
const isFor = (spec: Spec, pod: string): string => meansWindows(pod, spec);

/** Labels by which alone nobody can have meant certain pools. */
const general = [
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
  buildLabel,
];

const imagesOf = (pod: string): string => `(${allContainers(pod)}).map(c, c.image)`;

/** What can run on no node, whatever happens: refused, since it would wait or fail without a word. */
export function placementRule(spec: Spec): PodRule {
  const numbers = spec.windows.map(({ name, build }) => `${build} for ${name}`).join(", ");
  return {
    name: "placement",
    mostlyWell: true,
    when: (pod, before) =>
      `!(request.operation == "UPDATE" && object.kind == "Pod" && ${imagesOf(pod)} == ${imagesOf(before)}) && ${meansContainers(pod, spec)} && (object.kind == "DaemonSet" || !(${ofDaemonSet}))`,
    variables: {
      ...windowsVariables(spec, pod),
      images_for: joined("releases"),
      nodes_of: joined("chosen"),
      anywhere: `(!has(${pod}.nodeSelector) || ${pod}.nodeSelector.all(k, k in ${texts(general)})) && ${affinityTerms(pod)}.all(t, !has(t.matchFields) && t.?matchExpressions.orValue([]).all(e, e.key in ${texts(general)}))`,
    },
    checks: [
      {
        expression: `!(${saysWindows(pod)}) || !(${selectsOs(pod, "linux")})`,
        message:
          "{pod}.os.name says Windows and {pod}.nodeSelector chooses Linux, so no node fits: leave one of them out",
      },
      {
        asks: "variables.releases.size() > 1",
        expression: "variables.able.size() > 0",
        message:
          "the images of this pod are for {images_for}, and no node runs them together: use images of one release",
      },
      {
        // A pod with a class of ours has its nodes.
        asks: 'variables.releases.size() > 0 && !(object.kind == "Pod" && variables.class in variables.able)',
        expression: "variables.chosen.size() == 0 || variables.able.size() == 0 || variables.builds.size() > 0",
        message: `the image of this pod is for {images_for}, but its RuntimeClass, node selector or affinity chooses nodes of {nodes_of}, which cannot run it: choose the image for {nodes_of}, or leave {pod}.runtimeClassName and the label ${buildLabel} out`,
      },
      {
        asks: 'object.kind == "DaemonSet"',
        expression: "!variables.anywhere || variables.able.size() == 0 || variables.chosen.all(b, b in variables.able)",
        message: `the image of this DaemonSet is for {images_for}, but its template fits nodes of {nodes_of}: choose the build in {pod}.nodeSelector by ${buildLabel} (${numbers})`,
      },
    ],
    // A pod's image can be changed.
    operations: ["CREATE", "UPDATE"],
  };
}

/** What Windows ignores or cannot do, and what cannot be told: the pod is admitted with a warning to the client. */
export function limitsRule(spec: Spec): PodRule {
  const names = spec.windows.map(({ name }) => name).join(", ");
  return {
    name: "limits",
    mostlyWell: true,
    when: (pod) => meansContainers(pod, spec),
    variables: {
      containers: allContainers(pod),
      ofDaemonSet: ofDaemonSet,
      ...windowsVariables(spec, pod),
      ignored,
      ignored_fields: joined("ignored"),
      landsOn: 'variables.ofDaemonSet || variables.runtimeClass == "" ? variables.builds : [variables.runtimeClass]',
      images_for: joined("releases"),
    },
    checks: [
      {
        asks: "variables.releases.size() == 1",
        expression: "variables.able.size() > 0",
        message: `no node of this cluster runs images of {images_for}, so this pod waits for one: use an image for one of ${names}`,
      },
      {
        asks: 'variables.class == "" && !variables.ofDaemonSet && variables.releases.size() == 0',
        expression: `variables.builds.size() < 2 || variables.images.all(i, i.matches(${text(multiPlatform)}))`,
        message: `the Windows build of this pod cannot be told from its image, so any Windows node may get it, of the newest build first: if the image is for one build, set {pod}.runtimeClassName to one of ${names}`,
      },
      ...windowsLimits(spec),
    ],
    operations: ["CREATE"],
  };
}

const hasWindowsImage = (pod: string): string =>
  `(${allContainers(pod)}).exists(c, has(c.image) && c.image.matches(${text(windowsOnly)}))`;

/** Images for Windows in pods that nothing sends there, and that Linux nodes get. */
export function imageRule(spec: Spec): PodRule {
  const nodes = knownNodes(spec);
  const values = knownValues(nodes);
  return {
    name: "unplaced",
    unless: [namespaceLabels.windowsOsName, "required"],
    when: (pod) => `${hasWindowsImage(pod)} && !(${isFor(spec, pod)}) && (${fits(pod, nodes.linux, values, strictly)})`,
    checks: [
      {
        expression: "false",
        message:
          "an image of this pod is for Windows, but nothing says so, and Linux nodes get the pod: set {pod}.nodeSelector to kubernetes.io/os: windows",
      },
    ],
    operations: ["CREATE"],
  };
}

/** CEL: whether an affinity names the system, be it both. */
const namesSystem = (pod: string): string =>
  `${affinityTerms(pod)}.exists(t, t.?matchExpressions.orValue([]).exists(e, e.key in ${texts(osLabels)}))`;

/**
 * Tolerates Windows nodes, which may get it, and says no system.
 *
 * @param elsewhere CEL, which may ask `namespaceObject`, of where the API server says it
 */
export function unsaidRule(spec: Spec, elsewhere = "false"): PodRule {
  const nodes = knownNodes(spec);
  return {
    name: "eitherSystem",
    when: (pod) =>
      `(${toleratesWindows(pod)}) && !has(${pod}.nodeName) && !has(${pod}.runtimeClassName) && !(${isFor(spec, pod)}) && !(${namesSystem(pod)}) && !${hasWindowsImage(pod)} && (${fits(pod, nodes.windows, knownValues(nodes), strictly)})`,
    checks: [
      {
        orWhere: elsewhere,
        expression: "false",
        message:
          "this pod tolerates the taint of Windows nodes and says no system, so Windows nodes may get the pod: set {pod}.nodeSelector to kubernetes.io/os: linux",
      },
    ],
    operations: ["CREATE"],
  };
}

/** `unsaidRule` in the system's namespaces, where nothing else is told. */
export const unsaidPolicy = (spec: Spec, labels: NonNullable<Binding["labels"]>): PodPolicy => ({
  name: "fenestra-system-pod-warnings",
  rules: [unsaidRule(spec)],
  bindings: [{ suffix: "warn", actions: [...warns], namespaces: [{ ...notSystem(spec), operator: "In" }], labels }],
});

/**
 * Pods that are meant for Windows but do not say so. The API server validates them as Linux pods: fields that Windows
 * refuses are accepted and without effect, and PodSecurity `restricted` asks for those of Linux.
 */
export function osNamePolicy(spec: Spec): PodPolicy {
  const required: Requirement = { key: namespaceLabels.windowsOsName, operator: "In", values: ["required"] };
  return {
    name: "fenestra-windows-os-name",
    rules: [
      {
        name: "unsaid",
        when: (pod) => `(${hasWindowsImage(pod)} || (${isFor(spec, pod)})) && !(${saysWindows(pod)})`,
        checks: [
          {
            expression: "false",
            message:
              "this pod is meant for Windows by its image, node selector, affinity or RuntimeClass, but does not say so: set {pod}.os.name: windows, so that the API server refuses what Windows cannot do, and PodSecurity asks for nothing that only Linux has",
          },
        ],
        operations: ["CREATE"],
      },
    ],
    bindings: [
      {
        suffix: "warn",
        actions: [...warns],
        namespaces: [
          notSystem(spec),
          { ...required, operator: "NotIn" },
          { key: "pod-security.kubernetes.io/enforce", operator: "In", values: ["restricted"] },
        ],
      },
      { suffix: "deny", actions: ["Deny"], namespaces: [required] },
    ],
  };
}
