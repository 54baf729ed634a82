import { shares } from "../../model/allocatable.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { Manifest } from "../manifest.ts";
import { allContainers, isHostProcess, usesAccount } from "./cel.ts";
import { controlPlaneNames, controlPlaneRule, keptOff } from "./controlPlane.ts";
import { type PodRule, podPolicy } from "./podPolicy.ts";
import { letIn, securityRule, space } from "./podSecurity.ts";
import { namespaceLabels, notAllowed, notSystem, type Policy, policyManifests, type Variables } from "./policy.ts";
import { text, texts } from "./texts.ts";
import { imageRule, limitsRule, osNamePolicy, placementRule, unsaidPolicy, unsaidRule } from "./windowsPolicies.ts";

/** A HostProcess pod is an administrator of the node. */
const hostProcessRule: PodRule = {
  name: "hostProcess",
  unless: [namespaceLabels.hostProcess, "allowed"],
  when: isHostProcess,
  variables: space,
  checks: [
    {
      expression: "false",
      message: `HostProcess pods have every right on their node and run only in namespaces with the label ${namespaceLabels.hostProcess}: allowed, which Pod Security must let in as well. Run the pod in one, or have an administrator allow it here: ${letIn(` ${namespaceLabels.hostProcess}=allowed`)}`,
    },
  ],
  operations: ["CREATE"],
};

/**
 * Containers that are new here and that the webhook of windows-gmsa does not look at (v0.13.0, webhook.go:
 * iterateOverWindowsSecurityOptions).
 */
const unauthorized = (pod: string): string =>
  `object.kind == "Pod" && request.operation == "UPDATE" ? ${pod}.?ephemeralContainers.orValue([]) : ${pod}.?initContainers.orValue([])`;

/**
 * The kubelet hands the credential specification of any container to the runtime, and the webhook authorizes those of
 * the pod and of its `containers` alone: written out in another container, it would make the pod any account of the
 * domain.
 */
const gmsaRule: PodRule = {
  name: "gmsa",
  when: (pod) => `(${unauthorized(pod)}).exists(c, ${usesAccount("c.securityContext")})`,
  checks: [
    {
      expression: "false",
      message:
        "nobody checks whether this pod may use the gMSA account of an init or ephemeral container: leave gmsaCredentialSpecName and gmsaCredentialSpec out there and set {pod}.securityContext.windowsOptions.gmsaCredentialSpecName, which is checked and counts for every container",
    },
  ],
  operations: ["CREATE"],
  ephemeralContainers: true,
};

/**
 * Limits of a node's disk that none has: without a request the limit is one, which nobody looks for where a pod stays
 * Pending.
 */
function diskRule(pools: ClusterSpec["pools"]): PodRule {
  const mebibytes = pools.map((pool) => {
    // A file system is a little smaller than its disk.
    const { has, kept } = shares({ ...pool, diskGb: (pool.diskGb * 1024 ** 3) / 1e9 })["ephemeral-storage"];
    return Math.ceil(has - kept);
  });
  const most = Math.max(...mebibytes);
  const limit = 'c.?resources.?limits[?"ephemeral-storage"]';
  return {
    name: "disk",
    when: (pod) =>
      `(${allContainers(pod)}).exists(c, ${limit}.hasValue() && quantity(${limit}.value()).isGreaterThan(quantity("${most}Mi")))`,
    checks: [
      {
        expression: "false",
        message: `a limit of ephemeral-storage is a request too, and one of this pod is more than any node has (${Math.floor(most / 1024)} GiB), so it stays Pending: lower it, or give a pool a larger diskGb in the stack file`,
      },
    ],
    operations: ["CREATE"],
  };
}

/** What of NetworkPolicies nothing enforces. */
const networkPolicies = (message: string): Policy => ({
  name: "fenestra-network-policies",
  resourceRules: [
    {
      apiGroups: ["networking.k8s.io"],
      apiVersions: ["v1"],
      operations: ["CREATE", "UPDATE"],
      resources: ["networkpolicies"],
    },
  ],
  variables: {},
  validations: [{ expression: "false", message }],
  bindings: [{ suffix: "warn", actions: ["Warn", "Audit"] }],
});

function unenforced({ kubernetes, windows }: Pick<ClusterSpec, "kubernetes" | "windows">): readonly string[] {
  if (kubernetes.networkPolicies === "none")
    return [
      "nothing in this cluster enforces NetworkPolicies, so every pod still reaches every other: keep tenants in clusters of their own",
    ];
  return windows.length === 0
    ? []
    : [
        "NetworkPolicies hold for pods on Linux alone: what Windows pods may reach and who reaches them they do not limit",
      ];
}

/** The validating policies of a cluster; those about Windows only where it has Windows nodes. */
export function validationPolicies(
  spec: Pick<ClusterSpec, "addons" | "facts" | "kubernetes" | "pools" | "windows">,
): readonly Manifest[] {
  const windows = spec.windows.length > 0;
  const refusals = {
    name: "fenestra-pods",
    rules: [...(windows ? [placementRule(spec), hostProcessRule, gmsaRule] : []), controlPlaneRule],
    bindings: [{ suffix: "deny", actions: ["Deny" as const], namespaces: [notSystem(spec)] }],
  };
  const policies = [refusals, controlPlaneNames(spec), ...(windows ? [osNamePolicy(spec)] : [])];
  return [...policies.map(podPolicy), servicePolicy(spec), ...unenforced(spec).map(networkPolicies)].flatMap(
    policyManifests,
  );
}

/**
 * Labels of pods of ReplicaSets and of these themselves, and of pods of DaemonSets and StatefulSets. The warnings would
 * go to the controller; the author of the template had them. What Jobs give their pods a Job without labels has, too
 * (kubernetes/kubernetes: pkg/apis/batch/v1/defaults.go, pkg/registry/batch/job/strategy.go).
 */
const made = ["pod-template-hash", "controller-revision-hash"];

/** What is told of pods. */
export function podWarnings(
  spec: Pick<ClusterSpec, "addons" | "controlPlane" | "kubernetes" | "pools" | "windows">,
): readonly Manifest[] {
  const windows = spec.windows.length > 0;
  const labels = { none: made };
  return [
    {
      name: "fenestra-pod-warnings",
      rules: [
        ...(windows ? [limitsRule(spec), imageRule(spec), unsaidRule(spec, keptOff)] : []),
        ...(spec.pools.length > 0 ? [diskRule(spec.pools)] : []),
        // Another level by default has rules that nobody here knows.
        ...(spec.controlPlane.admission?.some(({ name }) => name === "PodSecurity") ? [] : [securityRule]),
      ],
      bindings: [
        { suffix: "warn", actions: ["Warn" as const, "Audit" as const], namespaces: [notSystem(spec)], labels },
      ],
    },
    ...(windows ? [unsaidPolicy(spec, labels)] : []),
  ].flatMap((policy) => policyManifests(podPolicy(policy)));
}

const label = namespaceLabels.externalAddresses;
const effect =
  "every node, also of the control plane, would send what it has for such an address to this Service's pods";

/**
 * Variables with a field of the Service as it is to be and, with the suffix `Before`, as it was; `none` is CEL for a
 * field that is absent.
 */
function nowAndBefore(name: string, field: string, none: string): Variables {
  return {
    [name]: `has(object.${field}) ? object.${field} : ${none}`,
    [`${name}Before`]: `request.operation == "UPDATE" && has(oldObject.${field}) ? oldObject.${field} : ${none}`,
  };
}

/**
 * Addresses that kube-proxy makes the Service's on every node, whoever has them (kubernetes/kubernetes,
 * pkg/proxy/iptables/proxier.go).
 */
const externalAddresses: Pick<Policy, "validations" | "variables"> = {
  variables: {
    ...nowAndBefore("addresses", "spec.externalIPs", "[]"),
    added: "variables.addresses.filter(ip, !(ip in variables.addressesBefore))",
  },
  validations: [
    {
      expression: "variables.added.size() == 0",
      message: "spec.externalIPs: no address can be added here",
      messageExpression: `"spec.externalIPs: " + variables.added.join(", ") + ${text(
        ` cannot be added here: ${effect}. Use a Service of type LoadBalancer or NodePort, or have an administrator label this namespace ${label}: allowed`,
      )}`,
    },
  ],
};

const annotation = (name: string): string => `service.beta.kubernetes.io/azure-${name}`;
const additional = annotation("additional-public-ips");
const dnsLabel = annotation("dns-label-name");

/** How a Service chooses a public address that exists already, beside `spec.loadBalancerIP`. */
const choices = ["pip-name", "pip-name-ipv6", "load-balancer-ipv4", "load-balancer-ipv6"].map(annotation);

const valueAt = (key: string, when: "" | "Before" = ""): string =>
  `variables.annotations${when}[?${text(key)}].orValue("")`;
const chosen = (when: "" | "Before"): string =>
  `${texts(choices)}.map(k, variables.annotations${when}[?k].orValue(""))`;

/**
 * Annotations that the cloud controller obeys (kubernetes-sigs/cloud-provider-azure v1.36.2,
 * pkg/provider/azure_loadbalancer.go). `getServiceLoadBalancerStatus` writes additional addresses into the Service's
 * status, from which kube-proxy takes them like `spec.externalIPs`, link-local ones too. `ensurePublicIPExists` gives a
 * chosen address its name before anything fails: that of the API would lose its own.
 */
const addressAnnotations: Pick<Policy, "validations" | "variables"> = {
  variables: {
    ...nowAndBefore("annotations", "metadata.annotations", "{}"),
    ...nowAndBefore("balancerIp", "spec.loadBalancerIP", '""'),
    chosen: chosen(""),
    chosenBefore: chosen("Before"),
  },
  validations: [
    {
      expression: `!(${text(additional)} in variables.annotations) || ${valueAt(additional)} == ${valueAt(additional, "Before")}`,
      message: `metadata.annotations, ${additional}: no address can be added here`,
      messageExpression: `${text(`metadata.annotations, ${additional}: `)} + ${valueAt(additional)} + ${text(
        ` cannot be set here: ${effect}. Leave the annotation out, or have an administrator label this namespace ${label}: allowed`,
      )}`,
    },
    {
      expression: [
        `!(${text(dnsLabel)} in variables.annotations)`,
        '(variables.balancerIp == "" && variables.chosen.all(c, c == ""))',
        `(${text(dnsLabel)} in variables.annotationsBefore && ${valueAt(dnsLabel)} == ${valueAt(dnsLabel, "Before")} && variables.balancerIp == variables.balancerIpBefore && variables.chosen == variables.chosenBefore)`,
      ].join(" || "),
      message: `metadata.annotations, ${dnsLabel}: a public address that exists already, here chosen by spec.loadBalancerIP or an annotation, cannot be given a name, since it could be that of the Kubernetes API. Leave the name or the choice out, or have an administrator label this namespace ${label}: allowed`,
    },
  ],
};

/**
 * A Service gets addresses from Kubernetes and the cloud; whoever chooses them takes over what machines send there
 * (CVE-2020-8554).
 */
function servicePolicy(spec: Pick<ClusterSpec, "facts" | "kubernetes">): Policy {
  const parts = [externalAddresses, ...(spec.facts.network.addressAnnotations ? [addressAnnotations] : [])];
  return {
    name: "fenestra-external-addresses",
    resourceRules: [
      { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["services"] },
    ],
    variables: Object.assign({}, ...parts.map(({ variables }) => variables)),
    validations: parts.flatMap(({ validations }) => validations),
    bindings: [{ suffix: "deny", actions: ["Deny"], namespaces: [notSystem(spec), notAllowed(label)] }],
  };
}
