import { awsNeeds } from "../../components/gates/account/aws/needs.ts";
import { azureNeeds } from "../../components/gates/account/azure/needs.ts";
import { listOf, mapOf, type PropertyMap, Secret, textOf } from "../../components/gates/values.ts";
import type { SimulatedCloud } from "../program/engine.ts";
import type { RecordedProgram } from "../program/recorded.ts";
import { awsResource } from "./aws.ts";
import { awsObjects } from "./awsAccess.ts";
import { collectAwsMachines } from "./awsMachines.ts";
import { azureResource } from "./azure.ts";
import { collectAzureHosts } from "./azureMachines.ts";
import { autoName, bytes, characters, uuid } from "./identifiers.ts";
import type { ProgramIndex, SimulatedMachine } from "./machines.ts";
import {
  type CertificateMode,
  existingOf,
  type MadeResource,
  readExisting,
  type SimulatedContext,
  type SimulatedPlace,
  type SimulatedProvider,
} from "./provider.ts";
import { tlsResource } from "./tls.ts";

/** Objects that machines fetch by a role. */
export const fetchedObjects = awsObjects;

export const needsOf = { aws: awsNeeds, azure: azureNeeds };

/** Account and subscription when the stack names none; the number is AWS's own of documentation. */
export const documentationAccounts = { aws: "123456789012", azure: "00000000-0000-4000-8000-000000000000" } as const;

/** Account and region by a stack's config; null is documentation's account. */
export function placeOf(
  config: Readonly<Record<string, string>>,
  account: string | null | undefined = config["fenestra:accountId"],
): SimulatedPlace {
  const cloud = config["fenestra:cloud"] === "azure" ? "azure" : "aws";
  const region = config["fenestra:region"] ?? (cloud === "aws" ? "eu-central-1" : "westeurope");
  const accountId = account ?? documentationAccounts[cloud];
  return { region, accountId, existing: existingOf(config["fenestra:network"], region, accountId) };
}

/** Characters of CEL (google/cel-go: parser/parser.go). */
const longestExpression = 100_000;

/**
 * The provider `kubernetes`: what server-side apply adds. The id is `<namespace>/<name>`, or the name of a cluster-wide
 * object (pulumi-kubernetes, provider.go, `fqObjName`).
 */
const kubernetesResource: SimulatedProvider = ({ type, name, urn, inputs }) => {
  const metadata = mapOf(inputs.metadata);
  const objectName = textOf(metadata.name) ?? autoName(name, urn);
  const namespace = textOf(metadata.namespace);
  const { matchConditions, variables, validations } = mapOf(inputs.spec);
  for (const { expression } of [matchConditions, variables, validations].flatMap((all) => listOf(all).map(mapOf)))
    if ((textOf(expression) ?? "").length > longestExpression)
      throw new Error(`${objectName}: expression code point size exceeds limit: fewer pools, perZone or labels`);
  // `kubernetes:apps/v1:Deployment`; the core group is `core`.
  const [, group = "", kind = ""] = type.split(":");
  return {
    id: namespace === undefined ? objectName : `${namespace}/${objectName}`,
    outputs: {
      apiVersion: inputs.apiVersion ?? group.replace(/^core\//, ""),
      kind: inputs.kind ?? kind,
      metadata: { ...metadata, name: objectName, uid: uuid(urn), resourceVersion: "1", generation: 1 },
    },
  };
};

const lower = "abcdefghijklmnopqrstuvwxyz";
const upper = lower.toUpperCase();
const digits = "0123456789";
/** Special characters of `random_password` by default (Terraform provider random). */
const special = "!@#$%&*()-_=+[]{}<>:?";

/** The provider `random`: values follow from the URN. */
const randomResource: SimulatedProvider = ({ type, urn, inputs }) => {
  switch (type) {
    case "random:index/randomString:RandomString": {
      const result = characters(lengthOf(inputs), alphabet(inputs), urn);
      return { id: result, outputs: { result } };
    }
    case "random:index/randomPassword:RandomPassword":
      return { id: "none", outputs: { result: new Secret(characters(lengthOf(inputs), alphabet(inputs), urn)) } };
    case "random:index/randomBytes:RandomBytes":
      return { id: "none", outputs: { base64: new Secret(bytes(lengthOf(inputs), urn).toString("base64")) } };
    case "random:index/randomUuid:RandomUuid": {
      const result = uuid(urn);
      return { id: result, outputs: { result } };
    }
    default:
      throw new Error(`no simulation of ${type}`);
  }
};

function lengthOf(inputs: PropertyMap): number {
  if (typeof inputs.length !== "number") throw new Error("a random value needs a length");
  return inputs.length;
}

function alphabet(inputs: PropertyMap): string {
  return [lower, inputs.upper === false ? "" : upper, digits, inputs.special === false ? "" : special].join("");
}

const providers: Readonly<Record<string, SimulatedProvider>> = {
  aws: awsResource,
  "azure-native": azureResource,
  tls: tlsResource,
  random: randomResource,
  kubernetes: kubernetesResource,
  // `pulumi.Stash`, which keeps its input in the state.
  "pulumi:index": ({ urn, inputs }) => ({ id: uuid(urn), outputs: { output: inputs.input ?? null } }),
  "pulumi:providers": (request) => ({ id: uuid(request.urn), outputs: {} }),
};

/**
 * Every provider of a Fenestra program. Answers depend on a resource's URN and inputs alone, so two runs agree.
 *
 * @param certificates `fake` for a plan: fast and the same in every run; `real` for a rehearsal.
 */
export function simulatedCloud(place: SimulatedPlace, certificates: CertificateMode): SimulatedCloud {
  const made = new Map<string, MadeResource>();
  const context: SimulatedContext = { place, certificates, find: (id) => made.get(id), made: () => made.values() };
  return (request) => {
    const [provider = "", module = ""] = request.type.split(":");
    const simulate = providers[provider === "pulumi" ? `pulumi:${module}` : provider];
    if (simulate === undefined) throw new Error(`no simulation of the provider of ${request.type}`);
    const resource =
      request.read === undefined ? simulate(request, context) : readExisting(place.existing ?? new Map(), request);
    made.set(resource.id, { request, made: resource });
    const arn = textOf(resource.outputs.arn);
    if (arn !== undefined) made.set(arn, { request, made: resource });
    return resource;
  };
}

/** @see programIndex for `howMany` */
export function collectMachines(
  program: RecordedProgram,
  howMany?: ProgramIndex["howMany"],
): readonly SimulatedMachine[] {
  return [
    ...collectAwsMachines(program, howMany),
    ...collectAzureHosts(program, howMany).map(({ machine }) => machine),
  ];
}
