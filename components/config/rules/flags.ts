import { z } from "zod";
import { names } from "../../model/cloudFacts/facts.ts";
import { childPath, didYouMean, type Problem, refuse } from "../../model/problem.ts";
import { minorFacts, minorOf } from "../../model/releases.ts";
import {
  type ControlPlaneProgram,
  controlPlanePrograms,
  featureGates,
  kubeletFields,
  kubeletGates,
  linuxFields,
  linuxSignals,
  neededAdmission,
  type ProgramGates,
  reservedFieldReason,
  reservedFlagReason,
} from "../../model/reservedFlags.ts";
import { key, poolRule, type Rules, rule } from "./rule.ts";

type Refusal = Omit<Problem, "path" | "value">;
type Wrong = Refusal | undefined;

const refusal = (message: string, allowed: string, remedy?: string): Refusal => ({
  message,
  allowed,
  ...(remedy !== undefined && { remedy }),
});

function flagProblem(program: ControlPlaneProgram, name: string, value: string, of: ProgramGates): Wrong {
  const reason = reservedFlagReason(program, name);
  if (reason !== undefined)
    return { message: `is a flag that Fenestra keeps to itself: ${reason}`, allowed: "other flags of the program" };
  if (!/^[a-z][a-z0-9.-]*$/.test(name))
    return refusal(
      "is not the name of a flag",
      "a name as --help shows it, without the dashes",
      /^--?\w/.test(name) ? `write ${name.replace(/^-+/, "")}` : undefined,
    );
  // kubeadm writes them to a manifest as they are, one argument each.
  if (/[\n\r]/.test(value)) return { message: "has a line break", allowed: "one line" };
  return name === "feature-gates"
    ? gatesProblem(controlPlanePrograms[program], value, of)
    : admissionProblem(name, value);
}

function gatesProblem(program: string, value: string, { gates, version }: ProgramGates): Wrong {
  for (const part of value.split(",")) {
    const [, gate = "", setting = ""] = /^(?:kube:)?([^=]*)=(.*)$/.exec(part) ?? [];
    if (!/^(?:true|false)$/.test(setting))
      return {
        message: `has ${JSON.stringify(part)}, which is no gate with true or false`,
        allowed: "Gate=true,Other=false",
      };
    if (!gates.includes(gate)) return gateProblem(gate, `${program} ${minorOf(version)}`, gates);
  }
  return undefined;
}

function gateProblem(gate: string, of: string, gates: readonly string[]): Refusal {
  return refusal(
    `names ${gate}, which is no feature gate that ${of} lets one set: it never was one, is locked, or is gone`,
    "alpha and beta gates of that minor, as its --help lists them",
    didYouMean(gate, gates),
  );
}

function admissionProblem(flag: string, value: string): Wrong {
  const listed = value.split(",");
  const needed = Object.entries(neededAdmission);
  if (flag === "enable-admission-plugins" && !listed.includes("NodeRestriction"))
    return {
      message: `leaves out NodeRestriction, which takes the flag's place: ${neededAdmission.NodeRestriction}`,
      allowed: "a list with NodeRestriction in it",
    };
  const off = flag === "disable-admission-plugins" ? needed.find(([name]) => listed.includes(name)) : undefined;
  if (off !== undefined)
    return {
      message: `switches off ${off[0]}: ${off[1]}`,
      allowed: `plug-ins other than ${needed.map(([name]) => name).join(", ")}`,
    };
  const apis = flag === "runtime-config" && listed.find((each) => !/^[a-z0-9./-]+=true$/.test(each));
  if (apis) return { message: `has ${JSON.stringify(apis)}, which switches nothing on`, allowed: "group/version=true" };
  const weak = /^tls-m(?:in|ax)-version$/.test(flag) && !/^(?:VersionTLS|TLS1\.)1?[23]$/.test(value);
  return weak
    ? { message: "is older than TLS 1.2", allowed: "VersionTLS12 or VersionTLS13, for etcd TLS1.2 or TLS1.3" }
    : undefined;
}

/** Off by default: these need a line in `enable-admission-plugins`. */
const offByDefault = ["EventRateLimit", "PodNodeSelector", "PodTolerationRestriction"];

/** Whether privileged pods may run in kube-system, which has no label of its own. */
function sparesSystem(configuration: Readonly<Record<string, unknown>>): boolean {
  const { defaults, exemptions } = podSecurity.catch({}).parse(configuration);
  return (
    (defaults?.enforce ?? "privileged") === "privileged" || exemptions?.namespaces?.includes("kube-system") === true
  );
}

const podSecurity = z.object({
  defaults: z.object({ enforce: z.string().optional() }).optional(),
  exemptions: z.object({ namespaces: z.array(z.string()).optional() }).optional(),
});

/** Fields of a KubeletConfiguration, with those of its maps of signals. */
function fieldsOf(kubelet: Readonly<Record<string, unknown>>): readonly (readonly [field: string, value: unknown])[] {
  return Object.entries(kubelet).flatMap(([field, value]) => [
    [field, value] as const,
    ...(/^eviction(?:Hard|Soft)$/.test(field)
      ? Object.entries(signals.parse(value)).map(([signal, own]) => [`${field}["${signal}"]`, own] as const)
      : []),
  ]);
}
const signals = z.record(z.string(), z.unknown()).catch({});

/** Whether a field, or a signal of one, is Linux' alone. */
const isLinuxOnly = (field: string): boolean =>
  linuxFields.includes(field) || linuxSignals.some((signal) => field.endsWith(`["${signal}"]`));

/** What is in the place of a rule of audit policies, by the names of audit.k8s.io/v1. */
const policyFields = names("apiVersion kind omitStages omitManagedFields rules");
const policyRuleFields = names(`level users userGroups verbs resources namespaces nonResourceURLs omitStages
  omitManagedFields`);

function unknownFields(value: object, known: readonly string[], kind: string, path: string): readonly Problem[] {
  return Object.entries(value).flatMap(([field, own]) =>
    known.includes(field)
      ? []
      : refuse(childPath(path, field), own, `is no field of ${kind}`, known.join(", "), didYouMean(field, known)),
  );
}

const podSecurityLevels = ["privileged", "baseline", "restricted"];

/** PodSecurity itself would end with such a level (k8s.io/pod-security-admission/api, `ParseLevel`). */
function podSecuritySlip(configuration: unknown, index: number): readonly Problem[] {
  const defaults = z.object({ defaults: z.record(z.string(), z.unknown()) }).safeParse(configuration).data?.defaults;
  return Object.entries(defaults ?? {}).flatMap(([mode, level]) =>
    mode.endsWith("-version") || podSecurityLevels.includes(String(level))
      ? []
      : refuse(
          key(`controlPlane.admission[${index}].configuration.defaults.${mode}`),
          level,
          "is no level of Pod Security",
          podSecurityLevels.join(", "),
          didYouMean(String(level), podSecurityLevels),
        ),
  );
}

export const flagRules: Rules = {
  extraArgs: rule(["kubernetes.version", "controlPlane.extraArgs"], (settings) => {
    const given = settings["controlPlane.extraArgs"];
    if (given === undefined) return [];
    const version = settings["kubernetes.version"];
    // An unknown minor is refused by the rule on the release.
    if (minorFacts(version) === undefined) return [];
    const recorded = featureGates(version);
    return (["apiServer", "controllerManager", "scheduler", "etcd"] as const).flatMap((program) => {
      return Object.entries(given[program] ?? {}).flatMap(([name, value]) => {
        const wrong = flagProblem(program, name, value, recorded[controlPlanePrograms[program]]);
        return wrong === undefined
          ? []
          : [{ path: childPath(key(`controlPlane.extraArgs.${program}`), name), value, ...wrong }];
      });
    });
  }),
  admission: rule(["controlPlane.admission", "controlPlane.extraArgs"], (settings) => {
    const plugins = settings["controlPlane.admission"] ?? [];
    const enabled = settings["controlPlane.extraArgs"]?.apiServer?.["enable-admission-plugins"]?.split(",") ?? [];
    return plugins.flatMap(({ name, configuration }, index) => {
      const path = key(`controlPlane.admission[${index}].name`);
      const slip = name === "PodSecurity" ? podSecuritySlip(configuration, index) : [];
      if (slip.length > 0) return slip;
      if (name === "PodSecurity" && !sparesSystem(configuration))
        return refuse(
          key(`controlPlane.admission[${index}].configuration`),
          configuration,
          "would keep the pods of the control plane and of the node's network from being made",
          "defaults.enforce: privileged, or kube-system in exemptions.namespaces",
        );
      if (plugins.findIndex((other) => other.name === name) !== index)
        return refuse(path, name, "is configured twice", "each plug-in once");
      return offByDefault.includes(name) && !enabled.includes(name)
        ? refuse(
            path,
            name,
            "is off by default, so its configuration would do nothing",
            "a plug-in that is on",
            `set controlPlane.extraArgs.apiServer.enable-admission-plugins: NodeRestriction,${name}`,
          )
        : [];
    });
  }),
  auditPolicy: rule(["controlPlane.auditPolicy"], ({ "controlPlane.auditPolicy": policy }) => {
    const path = key("controlPlane.auditPolicy");
    return policy === undefined
      ? []
      : [
          ...unknownFields(policy, policyFields, "a Policy", path),
          ...policy.rules.flatMap((own, index) =>
            unknownFields(own, policyRuleFields, "a Policy's rule", `${path}.rules[${index}]`),
          ),
        ];
  }),
  kubelet: poolRule(["os", "kubelet"], ["kubernetes.version"], ({ os, kubelet = {} }, path, settings) => {
    const version = settings["kubernetes.version"];
    if (minorFacts(version) === undefined) return [];
    const known = kubeletFields(minorOf(version));
    return fieldsOf(kubelet).flatMap(([field, value]) => {
      const at = `${path}.kubelet.${field}`;
      const reason = reservedFieldReason(field);
      if (reason !== undefined)
        return refuse(at, value, `is a field that Fenestra keeps to itself: ${reason}`, "other fields");
      if (os !== "linux" && isLinuxOnly(field))
        return refuse(at, value, "is a setting that kubelets on Windows do not have", "nothing on Windows");
      return field.includes("[")
        ? []
        : unknownFields({ [field]: value }, known, `KubeletConfiguration ${minorOf(version)}`, `${path}.kubelet`);
    });
  }),
  gates: poolRule(["kubelet"], ["kubernetes.version"], ({ kubelet }, path, settings) => {
    if (kubelet?.featureGates === undefined) return [];
    const version = settings["kubernetes.version"];
    if (minorFacts(version) === undefined) return [];
    const known = kubeletGates(featureGates(version));
    return Object.entries(kubelet.featureGates)
      .filter(([gate]) => !known.includes(gate))
      .map(([gate, value]) => ({
        ...{ path: childPath(`${path}.kubelet.featureGates`, gate), value },
        ...gateProblem(gate, `kubelet ${minorOf(version)}`, known),
      }));
  }),
};
