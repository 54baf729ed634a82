import { allContainers, isHostProcess } from "./cel.ts";
import type { PodRule } from "./podPolicy.ts";
import { namespaceLabels } from "./policy.ts";
import { text, texts } from "./texts.ts";

const level = "pod-security.kubernetes.io/enforce";

/**
 * The command after which Pod Security lets in what the namespace `variables.space` makes.
 *
 * @param more other labels, with a space before each
 */
export const letIn = (more = ""): string =>
  `kubectl label namespace {space} --overwrite${more} ${level}=privileged pod-security.kubernetes.io/warn=privileged`;

/** The rule's variable that `letIn` names. */
export const space = { space: "request.namespace" };

/** Capabilities that `baseline` allows to add (kubernetes/pod-security-admission: policy, capabilities_baseline). */
const capabilities =
  "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT";

/** CEL: Pod Security's `baseline` refuses the pod for what it would have of its node. */
function seesNode(pod: string): string {
  const unconfined = (context: string): string =>
    `"Unconfined" in [${context}.?seccompProfile.?type.orValue(""), ${context}.?appArmorProfile.?type.orValue("")] || !${context}.?seLinuxOptions.?type.orValue("").matches("^(container_(t|(init|kvm|engine)_t))?$")`;
  const own = "c.?securityContext";
  return [
    ...["hostNetwork", "hostPID", "hostIPC"].map((field) => `${pod}.?${field}.orValue(false)`),
    `${pod}.?volumes.orValue([]).exists(v, has(v.hostPath))`,
    unconfined(`${pod}.?securityContext`),
    `(${allContainers(pod)}).exists(c, ${[
      `${own}.?privileged.orValue(false)`,
      `${own}.?capabilities.?add.orValue([]).exists(a, !(a in ${texts(capabilities.split(" "))}))`,
      unconfined(own),
      "c.?ports.orValue([]).exists(p, p.?hostPort.orValue(0) > 0)",
    ].join(" || ")})`,
    isHostProcess(pod),
  ].join(" || ");
}

/** Pod Security's own warning tells what is wrong, not what lets it in; bare pods it refuses before this is asked. */
export const securityRule: PodRule = {
  name: "security",
  unless: [level, "privileged"],
  when: (pod) => `object.kind != "Pod" && (${seesNode(pod)})`,
  variables: space,
  checks: [
    {
      // Refused, with the labels for both.
      orWhere: `(${isHostProcess("variables.pod")}) && namespaceObject.metadata.?labels[?${text(namespaceLabels.hostProcess)}].orValue("") != "allowed"`,
      expression: "false",
      message: `Pod Security refuses its pods, which take part of their node, unless this namespace allows it: keep to what it allows, or have an administrator run ${letIn()}`,
    },
  ],
  operations: ["CREATE"],
};
