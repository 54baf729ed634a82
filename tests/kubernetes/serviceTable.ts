/** A Service that someone makes or changes, and what the API server must answer on Azure. */
interface ServiceCase {
  readonly title: string;
  readonly namespace: string;
  /** What is made or, with `of`, merged into that Service. */
  readonly service: ServicePart;
  readonly of?: keyof typeof olderServices;
  /** A part of it; `undefined` when the Service is let in. */
  readonly refusal: string | undefined;
}

export interface ServicePart {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly metadata?: { readonly annotations: Readonly<Record<string, string | null>> };
}

const azure = (annotations: Readonly<Record<string, string | null>>): ServicePart => ({
  metadata: {
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([name, value]) => [`service.beta.kubernetes.io/azure-${name}`, value]),
    ),
  },
});
const resolver = "168.63.129.16";
const balancer = { type: "LoadBalancer" };
const named = { ...azure({ "dns-label-name": "api", "pip-name": "own" }), spec: balancer };

/** Services older than the policy, in the namespace `plain`. */
export const olderServices = {
  addressed: { ...azure({ "additional-public-ips": "203.0.113.7" }), spec: { externalIPs: [resolver] } },
  named,
} as const;

const noAddress = "spec.externalIPs: 10.0.0.4 cannot be added here";
const noAnnotation = (value: string) => `azure-additional-public-ips: ${value} cannot be set here`;
const noName = "azure-dns-label-name: a public address that exists already";
const makes = (title: string, service: ServicePart, refusal?: string, namespace = "plain"): ServiceCase => ({
  title,
  namespace,
  service,
  refusal,
});
const changes = (
  title: string,
  of: keyof typeof olderServices,
  service: ServicePart,
  refusal?: string,
): ServiceCase => ({ title, namespace: "plain", of, service, refusal });

export const serviceTable: readonly ServiceCase[] = [
  makes("no address", {}),
  makes("an address", { spec: { externalIPs: ["10.0.0.4"] } }, noAddress),
  makes(
    "an address where it is allowed",
    { spec: { externalIPs: ["10.0.0.4"] } },
    undefined,
    "external-addresses-allowed",
  ),
  makes("an address in the system", { spec: { externalIPs: ["10.0.0.4"] } }, undefined, "kube-system"),
  makes(
    "an additional address",
    azure({ "additional-public-ips": "169.254.169.254" }),
    noAnnotation("169.254.169.254"),
  ),
  makes("a name for an address of its own", { ...azure({ "dns-label-name": "shop" }), spec: balancer }),
  makes("an address that exists", { spec: { ...balancer, loadBalancerIP: "203.0.113.7" } }),
  makes(
    "a name for an address that exists",
    { ...azure({ "dns-label-name": "api" }), spec: { ...balancer, loadBalancerIP: "203.0.113.7" } },
    noName,
  ),
  makes(
    "no name for an address that exists",
    { ...azure({ "dns-label-name": "", "pip-name": "api" }), spec: balancer },
    noName,
  ),
  changes("another port", "addressed", { spec: { ports: [{ port: 81 }] } }),
  changes("its addresses taken away", "addressed", {
    ...azure({ "additional-public-ips": null }),
    spec: { externalIPs: [] },
  }),
  changes("one more address", "addressed", { spec: { externalIPs: [resolver, "10.0.0.4"] } }, noAddress),
  changes(
    "another additional address",
    "addressed",
    azure({ "additional-public-ips": resolver }),
    noAnnotation(resolver),
  ),
  changes("another port", "named", { spec: { ports: [{ port: 81 }] } }),
  changes("another name", "named", azure({ "dns-label-name": "other" }), noName),
  changes("another address that exists", "named", azure({ "pip-name": "api" }), noName),
  changes("its name taken away", "named", azure({ "dns-label-name": null })),
];
