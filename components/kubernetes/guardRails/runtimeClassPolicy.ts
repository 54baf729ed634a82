import type { ClassProbe } from "../../gates/policyGate.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { type WindowsFacts, windowsReleases } from "../../model/operatingSystems.ts";
import { buildLabel } from "../../model/pools.ts";
import type { Manifest } from "../manifest.ts";
import { allContainers, isHostProcess, ofDaemonSet, saysWindows, text } from "./cel.ts";
import { notSystem } from "./namespaces.ts";

/** Name of the policy that sets the RuntimeClass of Windows pods, and of its binding. */
export const runtimeClassPolicyName = "fenestra-windows-runtime-class";

/** Expression for an image's tag of a release: `:ltsc2022`, `:windowsservercore-ltsc2022`, and 1809, an older name of 2019. */
export function tagPattern(os: WindowsFacts): string {
  const tags = os.imageTag === "ltsc2019" ? "ltsc2019|1809" : os.imageTag;
  return `[:-](${tags})([-@]|$)`;
}

/** The RuntimeClass for images of a release in a cluster with these builds; empty when no node can run them. */
export function classForImages(release: WindowsFacts, builds: readonly WindowsFacts[]): string {
  const same = builds.find(({ name }) => name === release.name);
  return (same ?? builds.find(({ runsImagesOf }) => runsImagesOf.includes(release.name)))?.name ?? "";
}

/**
 * The value that the policy sets, as CEL: the class of the build that the pod itself selects, since the API server refuses a pod whose
 * selector contradicts its class's; else that of the one release that the images' tags name; without such a tag the only build of the
 * cluster; else empty, and the pod is left alone.
 */
function runtimeClassExpression(builds: readonly WindowsFacts[]): string {
  const selected = builds.map(({ build, name }) => `variables.build == ${text(build)} ? ${text(name)} : `);
  return `variables.build != "" ? (${selected.join("")}"") : ${classByImages(builds)}`;
}

function classByImages(builds: readonly WindowsFacts[]): string {
  const [first, ...others] = builds;
  const fallback = first !== undefined && others.length === 0 ? first.name : "";
  const choices = windowsReleases.map(
    (release) => `variables.releases[0] == ${text(release.name)} ? ${text(classForImages(release, builds))} : `,
  );
  return `variables.releases.size() == 0 ? ${text(fallback)} : variables.releases.size() > 1 ? "" : ${choices.join("")}""`;
}

/**
 * The variables that end in `runtimeClass`: the class that the policy sets on a pod that has none, empty for none.
 *
 * @param pod the pod's spec, as CEL
 */
export function runtimeClassVariables(
  builds: readonly WindowsFacts[],
  pod: string,
): readonly { readonly name: string; readonly expression: string }[] {
  const selector = `${pod}.nodeSelector`;
  return [
    {
      name: "build",
      expression: `has(${selector}) && ${text(buildLabel)} in ${selector} ? ${selector}[${text(buildLabel)}] : ""`,
    },
    // The policy comes before the API server's own validation, which says that an image is missing.
    { name: "images", expression: `(${allContainers(pod)}).map(c, has(c.image), c.image)` },
    { name: "releases", expression: releasesExpression },
    { name: "runtimeClass", expression: runtimeClassExpression(builds) },
  ];
}

/**
 * Pods that prove that the policy is in force: an image of every known release and one of none, each with the class that it must get.
 * Whatever builds a cluster gains or loses, one of the answers changes, so that the policy of an earlier update is not mistaken for the
 * present one.
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

/** Names of the releases that the images' tags name, as CEL. */
const releasesExpression = `[${windowsReleases
  .map((release) => `variables.images.exists(i, i.matches(${text(tagPattern(release))})) ? ${text(release.name)} : ""`)
  .join(", ")}].filter(r, r != "")`;

const setClass = '[JSONPatch{op: "add", path: "/spec/runtimeClassName", value: variables.runtimeClass}]';

/**
 * Keeps a pod whose build is unknown off Linux nodes: the scheduler does not look at `spec.os`, so the pod would land there and be rejected
 * by the kubelet repeatedly. With this selector and without a toleration it stays Pending, with the reason.
 */
const holdBack = [
  'variables.hasSelector ? [JSONPatch{op: "add", path: "/spec/nodeSelector/" + jsonpatch.escapeKey("kubernetes.io/os"), value: "windows"}]',
  ': [JSONPatch{op: "add", path: "/spec/nodeSelector", value: {"kubernetes.io/os": "windows"}}]',
].join(" ");

/**
 * Sets `runtimeClassName` on Windows pods that have none. The API server's RuntimeClass admission then runs again and merges the class's
 * node selector and toleration, so nothing is repeated here. It may run twice for one pod: the second time the field is set. A DaemonSet's
 * pod gets none: its controller has chosen the node by the template alone (kubernetes/kubernetes,
 * pkg/controller/daemon/daemon_controller.go: NodeShouldRunDaemonPod), and the class's selector would contradict a node whose build runs
 * images of an older one.
 */
export function runtimeClassPolicy(spec: Pick<ClusterSpec, "kubernetes" | "windows">): readonly Manifest[] {
  const builds = spec.windows;
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingAdmissionPolicy",
      metadata: { name: runtimeClassPolicyName },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
        },
        matchConditions: [
          { name: "says-windows", expression: saysWindows("object.spec") },
          { name: "has-no-class", expression: "!has(object.spec.runtimeClassName)" },
          { name: "is-no-host-process", expression: `!(${isHostProcess("object.spec")})` },
        ],
        variables: [
          ...runtimeClassVariables(builds, "object.spec"),
          { name: "ofDaemonSet", expression: ofDaemonSet },
          { name: "hasSelector", expression: "has(object.spec.nodeSelector)" },
          {
            name: "saysOs",
            expression: 'variables.hasSelector && "kubernetes.io/os" in object.spec.nodeSelector',
          },
        ],
        failurePolicy: "Fail",
        reinvocationPolicy: "IfNeeded",
        mutations: [
          {
            patchType: "JSONPatch",
            jsonPatch: {
              expression: `variables.runtimeClass != "" && !variables.ofDaemonSet ? ${setClass} : variables.saysOs ? [] : ${holdBack}`,
            },
          },
        ],
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingAdmissionPolicyBinding",
      metadata: { name: runtimeClassPolicyName },
      spec: {
        policyName: runtimeClassPolicyName,
        matchResources: {
          namespaceSelector: { matchExpressions: [notSystem(spec)] },
        },
      },
    },
  ];
}
