import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { text, texts } from "./cel.ts";
import { namespaceLabels, notAllowed, notSystem } from "./namespaces.ts";
import type { Policy, Variables } from "./policy.ts";

const label = namespaceLabels.externalAddresses;
const effect = "every node, also of the control plane, would send what it has for such an address to this Service's pods";

/**
 * Variables with a field of the Service as it is to be and, with the suffix `Before`, as it was; `none` is CEL for a field that is absent.
 */
function nowAndBefore(name: string, field: string, none: string): Variables {
  return {
    [name]: `has(object.${field}) ? object.${field} : ${none}`,
    [`${name}Before`]: `request.operation == "UPDATE" && has(oldObject.${field}) ? oldObject.${field} : ${none}`,
  };
}

/** Addresses that kube-proxy makes the Service's on every node, whoever has them (kubernetes/kubernetes, pkg/proxy/iptables/proxier.go). */
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

const valueAt = (key: string, when: "" | "Before" = ""): string => `variables.annotations${when}[?${text(key)}].orValue("")`;
const chosen = (when: "" | "Before"): string => `${texts(choices)}.map(k, variables.annotations${when}[?k].orValue(""))`;

/**
 * Annotations that the cloud controller obeys (kubernetes-sigs/cloud-provider-azure v1.36.2, pkg/provider/azure_loadbalancer.go).
 * `getServiceLoadBalancerStatus` writes additional addresses into the Service's status, from which kube-proxy takes them like those of
 * `spec.externalIPs`, link-local ones too. `ensurePublicIPExists` gives a chosen address its name before anything fails because another
 * load balancer has it: that of the API would lose its own.
 */
const azureAnnotations: Pick<Policy, "validations" | "variables"> = {
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

/** A Service gets addresses from Kubernetes and the cloud; whoever chooses them takes over what machines send there (CVE-2020-8554). */
export function servicePolicy(spec: Pick<ClusterSpec, "facts" | "kubernetes">): Policy {
  const parts = [externalAddresses, ...(spec.facts.network.addressAnnotations ? [azureAnnotations] : [])];
  return {
    name: "fenestra-external-addresses",
    resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["services"] }],
    variables: Object.assign({}, ...parts.map(({ variables }) => variables)),
    validations: parts.flatMap(({ validations }) => validations),
    bindings: [{ suffix: "deny", actions: ["Deny"], namespaces: [notSystem(spec), notAllowed(label)] }],
  };
}
