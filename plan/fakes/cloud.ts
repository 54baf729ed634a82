import type { SimulatedCloud, SimulatedResource } from "../program/engine.ts";
import type { ResourceRequest } from "../program/request.ts";
import { textOf } from "../program/values.ts";
import { awsResource } from "./aws.ts";
import { azureResource } from "./azure.ts";
import { uuid } from "./identifiers.ts";
import { kubernetesResource } from "./kubernetes.ts";
import { randomResource } from "./random.ts";
import { stashResource } from "./stash.ts";
import { type CertificateMode, tlsResource } from "./tls.ts";

/** Where the simulated cloud is. */
export interface SimulatedPlace {
  /** `eu-central-1`, `westeurope`. */
  readonly region: string;
  /** AWS account id or Azure subscription id. */
  readonly accountId: string;
}

/** What a provider's simulation may look at. */
export interface SimulatedContext {
  readonly place: SimulatedPlace;
  /** How keys and certificates are made. */
  readonly certificates: CertificateMode;
  /** A resource that was made before in this run, by its id; with the resources it was made from. */
  readonly find: (id: string) => MadeResource | undefined;
}

/** A resource that the simulated cloud has made. */
export interface MadeResource {
  readonly request: ResourceRequest;
  readonly made: SimulatedResource;
}

/** Makes a resource of one provider. */
export type SimulatedProvider = (request: ResourceRequest, context: SimulatedContext) => SimulatedResource;

/** Account and subscription of a simulated cloud when the stack names none: the number of AWS's own documentation. */
export const documentationAccounts = { aws: "123456789012", azure: "00000000-0000-4000-8000-000000000000" } as const;

/** Where a stack's config puts it. */
export function placeOf(config: Readonly<Record<string, string>>): SimulatedPlace {
  const cloud = config["fenestra:cloud"] === "azure" ? "azure" : "aws";
  return {
    region: config["fenestra:region"] ?? (cloud === "aws" ? "eu-central-1" : "westeurope"),
    accountId: config["fenestra:accountId"] ?? documentationAccounts[cloud],
  };
}

const providers: Readonly<Record<string, SimulatedProvider>> = {
  aws: awsResource,
  "azure-native": azureResource,
  tls: tlsResource,
  random: randomResource,
  kubernetes: kubernetesResource,
  "pulumi:index": stashResource,
  "pulumi:providers": (request) => ({ id: uuid(request.urn), outputs: {} }),
};

/**
 * A simulated cloud: every provider that a Fenestra program uses. Its answers depend on a resource's URN and inputs and nothing else, so
 * two runs agree. A provider that it does not know is an error, so that no resource gets made-up outputs by accident.
 *
 * @param certificates `stand-in` for a plan: fast and the same in every run; `real` for a rehearsal.
 */
export function simulatedCloud(place: SimulatedPlace, certificates: CertificateMode): SimulatedCloud {
  const made = new Map<string, MadeResource>();
  const context: SimulatedContext = { place, certificates, find: (id) => made.get(id) };
  return (request) => {
    const [provider = "", module = ""] = request.type.split(":");
    const simulate = providers[provider === "pulumi" ? `pulumi:${module}` : provider];
    if (simulate === undefined) throw new Error(`no simulation of the provider of ${request.type}`);
    const resource = simulate(request, context);
    made.set(resource.id, { request, made: resource });
    const arn = textOf(resource.outputs.arn);
    if (arn !== undefined) made.set(arn, { request, made: resource });
    return resource;
  };
}
