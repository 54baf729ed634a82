import { z } from "zod";
import { childPath, didYouMean, type Problem, problem, refuse } from "../../model/problem.ts";
import { minorFacts, minorOf } from "../../model/releases.ts";
import {
  type ControlPlaneProgram,
  controlPlanePrograms,
  flagKinds,
  kubeletGates,
  neededAdmission,
  type ProgramFlags,
  programFlags,
  reservedFlagReason,
} from "../../model/reservedFlags.ts";
import { key, poolRule, type Rules, rule } from "./rule.ts";

type Wrong = Omit<Problem, "path" | "value"> | undefined;

const refusal = (message: string, allowed: string, remedy?: string): Wrong => ({
  message,
  allowed,
  ...(remedy === undefined ? {} : { remedy }),
});

const kindInWords = {
  bool: "true or false",
  duration: "a duration such as 30s",
  float: "a number",
  int: "a whole number",
};

function flagProblem(program: ControlPlaneProgram, name: string, value: string, of: ProgramFlags): Wrong {
  const title = controlPlanePrograms[program];
  const reason = reservedFlagReason(program, name);
  if (reason !== undefined)
    return { message: `is a flag that Fenestra keeps to itself: ${reason}`, allowed: "other flags of the program" };
  const found = Object.entries(of.flags).find(([, names]) => names.includes(name))?.[0];
  if (found === undefined) {
    const known = Object.values(of.flags)
      .flat()
      .filter((each) => reservedFlagReason(program, each) === undefined);
    return refusal(
      `is not a flag that ${title} ${minorOf(of.version)} lists`,
      `what ${title} --help of ${of.version} shows, without the dashes`,
      didYouMean(name.replace(/^-+/, ""), known),
    );
  }
  const pattern = Object.entries(flagKinds).find(([kind]) => kind === found)?.[1];
  if (pattern !== undefined && !pattern.test(value)) {
    const words = Object.entries(kindInWords).find(([kind]) => kind === found)?.[1] ?? "a value";
    return { message: "has a value that the flag does not take", allowed: words };
  }
  // kubeadm writes them to a manifest as they are, one argument each.
  if (/[\n\r]/.test(value)) return { message: "has a line break", allowed: "one line" };
  return name === "feature-gates" ? gatesProblem(title, value, of) : admissionProblem(name, value);
}

function gatesProblem(program: string, value: string, { gates, version }: ProgramFlags): Wrong {
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

function gateProblem(gate: string, of: string, gates: readonly string[]): Wrong {
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

/** What kubelets on Windows do not have (kubernetes/kubernetes, pkg/kubelet/apis/config/validation_windows.go). */
const linuxFields = [
  "podPidsLimit",
  "seccompDefault",
  "cpuManagerPolicy",
  "topologyManagerPolicy",
  "allowedUnsafeSysctls",
] as const;

const linuxSignals = ["nodefs.inodesFree", "imagefs.inodesFree", "pid.available"];

export const flagRules: Rules = {
  extraArgs: rule(["kubernetes.version", "controlPlane.extraArgs"], (settings) => {
    const given = settings["controlPlane.extraArgs"];
    if (given === undefined) return [];
    const version = settings["kubernetes.version"];
    // An unknown minor is refused by the rule on the release.
    if (minorFacts(version) === undefined) return [];
    const recorded = programFlags(version);
    return (["apiServer", "controllerManager", "scheduler", "etcd"] as const).flatMap((program) => {
      const of = recorded[controlPlanePrograms[program]];
      return Object.entries(given[program] ?? {}).flatMap(([name, value]) => {
        const wrong = flagProblem(program, name, value, of);
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
  linuxOnly: poolRule(["os", "kubelet"], [], ({ os, kubelet = {} }, path) => {
    if (os === "linux") return [];
    const found = [
      ...linuxFields.flatMap((field) => (kubelet[field] === undefined ? [] : [[field, kubelet[field]] as const])),
      ...(["evictionHard", "evictionSoft"] as const).flatMap((field) =>
        Object.entries(kubelet[field] ?? {}).flatMap(([signal, value]) =>
          linuxSignals.includes(signal) ? [[`${field}["${signal}"]`, value] as const] : [],
        ),
      ),
    ];
    return found.map(([field, value]) =>
      problem(
        `${path}.kubelet.${field}`,
        value,
        "is a setting that kubelets on Windows do not have",
        "nothing on Windows",
      ),
    );
  }),
  thresholds: poolRule(["kubelet"], [], ({ kubelet = {} }, path) => {
    const values: Readonly<Record<string, string | undefined>> = kubelet.evictionSoft ?? {};
    const soft = Object.keys(values);
    const periods = Object.keys(kubelet.evictionSoftGracePeriod ?? {});
    const missing = soft.filter((signal) => !periods.includes(signal));
    const alone = periods.filter((signal) => !soft.includes(signal));
    const { imageGCHighThresholdPercent: high = 85, imageGCLowThresholdPercent: low = 80 } = kubelet;
    return [
      ...missing.map((signal) =>
        problem(
          `${path}.kubelet.evictionSoft["${signal}"]`,
          values[signal],
          "has no grace period, without which the kubelet does not start",
          "a threshold that evictionSoftGracePeriod names too",
        ),
      ),
      ...alone.map((signal) =>
        problem(
          `${path}.kubelet.evictionSoftGracePeriod["${signal}"]`,
          kubelet.evictionSoftGracePeriod?.[signal],
          "belongs to no threshold of evictionSoft",
          soft.length === 0 ? "nothing without evictionSoft" : `one of ${soft.join(", ")}`,
        ),
      ),
      ...(low < high
        ? []
        : refuse(
            `${path}.kubelet.imageGCLowThresholdPercent`,
            low,
            "is not below imageGCHighThresholdPercent",
            `less than ${high}`,
          )),
    ];
  }),
  gates: poolRule(["kubelet"], ["kubernetes.version"], ({ kubelet }, path, settings) => {
    if (kubelet?.featureGates === undefined) return [];
    const version = settings["kubernetes.version"];
    if (minorFacts(version) === undefined) return [];
    const known = kubeletGates(programFlags(version));
    return Object.entries(kubelet.featureGates).flatMap(([gate, value]) => {
      const wrong = known.includes(gate) ? undefined : gateProblem(gate, `kubelet ${minorOf(version)}`, known);
      return wrong === undefined ? [] : [{ path: childPath(`${path}.kubelet.featureGates`, gate), value, ...wrong }];
    });
  }),
};
