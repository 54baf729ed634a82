import { BlockList } from "node:net";
import type { V1CertificateSigningRequest } from "@kubernetes/client-node";
import { statusOf } from "../../checks/cluster/api.ts";
import { readRequestPem } from "../../plan/fakes/x509.ts";
import type { Api } from "../cluster/api.ts";

/** Signer of serving certificates; its requests nobody in the control plane approves. */
export const servingSigner = "kubernetes.io/kubelet-serving";

/** What the approver is told in its environment. */
export interface ApproverSettings {
  readonly regex: RegExp;
  readonly networks: readonly string[];
  readonly dnsNames: number;
  readonly seconds: number;
}

/** The part of a request that is looked at. */
export interface ServingRequest {
  readonly username: string;
  readonly commonName: string;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly seconds: number;
}

/**
 * Why the approver would deny a request; `undefined` when it approves. In the order of the original, with its name resolution switched off
 * (postfinance/kubelet-csr-approver v1.2.14: internal/controller, `Reconcile`, `DNSCheck`, `WhitelistedIPCheck`).
 */
export function denial(request: ServingRequest, { regex, networks, dnsNames, seconds }: ApproverSettings): string | undefined {
  const { username } = request;
  if (!username.startsWith("system:node:")) return `the user is ${username}`;
  if (request.dnsNames.length + request.ipAddresses.length === 0) return "it names neither an IP address nor a DNS name";
  if (request.commonName !== username) return `its common name is ${request.commonName}`;
  if (request.dnsNames.length > dnsNames) return `it has ${request.dnsNames.length} DNS names, ${dnsNames} are allowed`;
  for (const name of request.dnsNames) {
    if (!name.startsWith(username.slice("system:node:".length))) return `${name} does not begin with the node's name`;
    if (!regex.test(name)) return `${name} does not fit ${regex.source}`;
  }
  const allowed = new BlockList();
  for (const [address = "", prefix] of networks.map((network) => network.split("/"))) allowed.addSubnet(address, Number(prefix));
  const stray = request.ipAddresses.find((address) => !allowed.check(address));
  if (stray !== undefined) return `${stray} lies in none of ${networks.join(", ")}`;
  return request.seconds > seconds ? `it asks for ${request.seconds} s, ${seconds} are allowed` : undefined;
}

/** Fake of kubelet-csr-approver, by the environment that its Deployment gives it; nothing happens in a cluster without it. */
export async function approveServing(api: Api): Promise<void> {
  const settings = await approverSettings(api);
  if (settings === undefined) return;
  for (const request of (await api.certificates.listCertificateSigningRequest()).items) {
    const { metadata, spec, status } = request;
    if (spec.signerName !== servingSigner || (status?.conditions ?? []).length > 0) continue;
    const reason = denial(servingRequest(request), settings);
    const condition =
      reason === undefined
        ? { type: "Approved", status: "True", reason: "kubelet-serving cert validated" }
        : { type: "Denied", status: "True", reason: "kubelet-serving cert denied", message: reason };
    await api.certificates.replaceCertificateSigningRequestApproval({
      name: metadata?.name ?? "",
      body: { ...request, status: { ...status, conditions: [condition] } },
    });
  }
}

async function approverSettings({ apps }: Api): Promise<ApproverSettings | undefined> {
  const deployment = await apps
    .readNamespacedDeployment({ name: "kubelet-csr-approver", namespace: "kube-system" })
    .catch((error: unknown) => {
      if (statusOf(error) === 404) return undefined;
      throw error;
    });
  const env = deployment?.spec?.template.spec?.containers[0]?.env;
  if (env === undefined) return undefined;
  const values = new Map(env.map(({ name, value }) => [name, value ?? ""]));
  if (values.get("BYPASS_DNS_RESOLUTION") !== "true") throw new Error("the fake of kubelet-csr-approver resolves no names");
  return {
    regex: new RegExp(values.get("PROVIDER_REGEX") ?? ""),
    networks: (values.get("PROVIDER_IP_PREFIXES") ?? "").split(","),
    dnsNames: Number(values.get("ALLOWED_DNS_NAMES") ?? "1"),
    seconds: Number(values.get("MAX_EXPIRATION_SEC") ?? "0"),
  };
}

function servingRequest({ spec }: V1CertificateSigningRequest): ServingRequest {
  const { subject, alternativeNames } = readRequestPem(Buffer.from(spec.request, "base64").toString());
  const names = [...(alternativeNames ?? [])];
  return {
    username: spec.username ?? "",
    commonName: subject.flatMap((part) => part.filter(({ type }) => type === "2.5.4.3")).map(({ value }) => String(value))[0] ?? "",
    dnsNames: names.flatMap(({ dNSName }) => dNSName ?? []),
    ipAddresses: names.flatMap(({ iPAddress }) => iPAddress ?? []),
    seconds: spec.expirationSeconds ?? 0,
  };
}
