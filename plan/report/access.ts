import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import { at, fromJson } from "../../components/model/json.ts";
import { matches } from "../fakes/awsAccess.ts";
import { builtInRoles } from "../fakes/azureAccess.ts";
import { grouped } from "../finding.ts";
import type { Plan, PlanResource } from "../plan.ts";

interface Reach {
  readonly from: string;
  readonly to: string;
  /** `TCP 6443`. */
  readonly ports: string;
  readonly purpose: string;
}

/** Data for machines, with those whose roles let them at it. */
interface Store {
  /** `Parameter Store: 5 secrets`, `Bucket: snapshots`. */
  readonly title: string;
  /** What is in it, where the title does not say it. */
  readonly detail: string;
  /** The control plane, or pools. */
  readonly readers: readonly string[];
  readonly writers: readonly string[];
}

const everyone = "everyone";
const podsName = "pods with the right";

const controlPlaneName = "control plane";

/** Inbound rules that allow something. */
export function reaches(plan: Plan): readonly Reach[] {
  const rules = plan.resources.flatMap((resource) =>
    resource.type === "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
      ? [awsRule(plan, resource)]
      : resource.type === "azure-native:network:SecurityRule"
        ? azureRule(plan, resource)
        : [],
  );
  return rules.sort((a, b) => (a.to < b.to ? -1 : a.to > b.to ? 1 : 0));
}

function awsRule(plan: Plan, { inputs, propertyDependencies }: PlanResource): Reach {
  const [first, last] = [text(inputs, "fromPort"), text(inputs, "toPort")];
  const protocol = text(inputs, "ipProtocol");
  return {
    from: text(inputs, "cidrIpv4") || groupName(plan, propertyDependencies.referencedSecurityGroupId),
    to: groupName(plan, propertyDependencies.securityGroupId),
    ports: protocol === "-1" ? "all" : `${protocol.toUpperCase()} ${first === last ? first : `${first}-${last}`}`,
    purpose: text(inputs, "description"),
  };
}

function azureRule(plan: Plan, { inputs, propertyDependencies }: PlanResource): readonly Reach[] {
  if (text(inputs, "access") !== "Allow" || text(inputs, "direction") !== "Inbound") return [];
  const prefixes = texts(inputs, "sourceAddressPrefixes");
  const prefix = text(inputs, "sourceAddressPrefix");
  const protocol = text(inputs, "protocol");
  const ports = text(inputs, "destinationPortRange") || texts(inputs, "destinationPortRanges").join(", ");
  return [
    {
      from:
        prefix === "AzureLoadBalancer"
          ? "health probes of Azure"
          : prefix || prefixes.join(", ") || groupName(plan, propertyDependencies.sourceApplicationSecurityGroups),
      to: groupName(
        plan,
        propertyDependencies.destinationApplicationSecurityGroups ?? propertyDependencies.networkSecurityGroupName,
      ),
      ports: protocol === "*" && ports === "*" ? "all" : `${protocol.toUpperCase()} ${ports}`,
      purpose: text(inputs, "description"),
    },
  ];
}

function groupName({ cluster, resources }: Plan, urns: readonly string[] | undefined): string {
  const name = resources.find(({ urn }) => urns?.includes(urn))?.name ?? "anything";
  const short = name.replace(`${cluster.name}-security-`, "").replace(`${cluster.name}-network-`, "");
  return { "api-internal": "internal load balancer", "api-public": "public load balancer" }[short] ?? words(short);
}

/** Stores: secrets by who is let at them, then buckets. */
export function stores(plan: Plan): readonly Store[] {
  const grants = plan.cluster.cloud === "aws" ? awsGrants(plan) : azureGrants(plan);
  const holders = (check: (grant: Grant) => boolean): readonly string[] => [
    ...new Set(grants.filter(check).map(({ who }) => who)),
  ];
  const secrets = plan.resources
    .filter(({ type }) => type === "aws:ssm/parameter:Parameter" || type === "azure-native:keyvault:Secret")
    .map((resource) => ({
      name: resource.name
        .replace(`${plan.cluster.name}-secrets-`, "")
        .replace(new RegExp(`^${plan.cluster.name}-pool-(.+)-join$`), "join of $1"),
      readers: holders((grant) => grant.may("read", resource)),
      writers: holders((grant) => grant.may("write", resource)),
    }));
  const groups = grouped(secrets, ({ readers, writers }) => `${readers.join()} ${writers.join()}`);
  const { secrets: place, secret: single, bucket } = cloudFacts[plan.cluster.cloud].words;
  const buckets = plan.resources.filter(
    ({ type }) => type === "aws:s3/bucket:Bucket" || type === "azure-native:storage:BlobContainer",
  );
  return [
    ...groups.map(([{ name, readers, writers }, members]) => {
      if (members.length === 1) return { title: `${single}: ${words(name)}`, detail: "", readers, writers };
      const detail = members.map((member) => member.name).join(", ");
      return { title: `${place}: ${members.length} secrets`, detail, readers, writers };
    }),
    ...buckets.map((resource) => ({
      title: `${bucket}: ${words(resource.name.replace(`${plan.cluster.name}-`, "").replace(/^workload-identity-|-(bucket|container)$/g, ""))}`,
      detail: "",
      readers: isPublic(plan, resource) ? [everyone] : holders((grant) => grant.may("read", resource)),
      writers: holders((grant) => grant.may("write", resource)),
    })),
  ];
}

function isPublic({ resources }: Plan, store: PlanResource): boolean {
  return (
    at(store.inputs, "publicAccess") === "Blob" ||
    resources.some(
      ({ type, inputs, propertyDependencies }) =>
        type === "aws:s3/bucketPolicy:BucketPolicy" &&
        (propertyDependencies.bucket ?? []).includes(store.urn) &&
        statements(text(inputs, "policy")).some(
          (statement) => at(statement, "Effect") === "Allow" && at(statement, "Principal") === "*",
        ),
    )
  );
}

interface Grant {
  readonly who: string;
  readonly may: (what: "read" | "write", store: PlanResource) => boolean;
}

/** Whose identity it is: the control plane's, or a pool's. */
function holderOf({ cluster, pools }: Plan, name: string | undefined): string | undefined {
  if (name === `${cluster.name}-control-plane-identity`) return controlPlaneName;
  if (name === `${cluster.name}-workload-identity`) return podsName;
  return pools.find((pool) => name === `${cluster.name}-pool-${pool.name}-identity`)?.name;
}

function awsGrants(plan: Plan): readonly Grant[] {
  const parents = new Map(plan.resources.map(({ urn, name }) => [urn, name]));
  return plan.resources
    .filter(({ type }) => type === "aws:iam/policy:Policy")
    .flatMap(({ parent, inputs }) => {
      const who = holderOf(plan, parents.get(parent ?? ""));
      return who === undefined ? [] : statements(text(inputs, "policy")).map((statement) => ({ who, statement }));
    })
    .map(({ who, statement }) => ({
      who,
      may: (what, store) => {
        const secret = store.type === "aws:ssm/parameter:Parameter";
        const action = secret
          ? `ssm:${what === "read" ? "Get" : "Put"}Parameter`
          : `s3:${what === "read" ? "Get" : "Put"}Object`;
        return (
          at(statement, "Effect") === "Allow" &&
          texts(statement, "Action").some((pattern) => matches(pattern, action)) &&
          texts(statement, "Resource").some((pattern) =>
            secret
              ? matches(pattern.replace(/^.*:parameter/, ""), text(store.inputs, "name"))
              : // The cloud adds random characters to the name that the program gives.
                pattern.includes(`:s3:::${store.name}-`),
          )
        );
      },
    }));
}

function statements(policy: string): readonly unknown[] {
  const list = at(fromJson(policy), "Statement");
  return Array.isArray(list) ? list : [];
}

function azureGrants(plan: Plan): readonly Grant[] {
  const byUrn = new Map(plan.resources.map((resource) => [resource.urn, resource]));
  const nameOf = (urn: string | null | undefined): string | undefined => byUrn.get(urn ?? "")?.name;
  return plan.resources
    .filter(({ type }) => type === "azure-native:authorization:RoleAssignment")
    .flatMap(({ inputs, propertyDependencies }) => {
      const identity = byUrn.get(propertyDependencies.principalId?.[0] ?? "");
      const owner = byUrn.get(identity?.parent ?? "");
      // A service account's identity is inside the component of all of them.
      const who = holderOf(plan, owner?.name) ?? holderOf(plan, nameOf(owner?.parent));
      const role = builtInRoles[text(inputs, "roleDefinitionId").split("/").at(-1) ?? ""];
      const scopes = propertyDependencies.scope ?? [];
      if (who === undefined || role === undefined) return [];
      return [
        {
          who,
          may: (what: "read" | "write", store: PlanResource) => {
            const places = [store.urn, ...Object.values(store.propertyDependencies).flat()];
            const inScope = scopes.some((scope) => places.includes(scope));
            const action =
              store.type === "azure-native:keyvault:Secret"
                ? `Microsoft.KeyVault/vaults/secrets/${what === "read" ? "get" : "set"}Secret/action`
                : `Microsoft.Storage/storageAccounts/blobServices/containers/blobs/${what}`;
            return inScope && (role.dataActions ?? []).some((pattern) => matches(pattern, action));
          },
        },
      ];
    });
}

/** `control plane, all pools`. */
export function holdersInWords(plan: Plan, holders: readonly string[]): string {
  if (holders.length === 0) return "nobody";
  if (holders.includes(everyone)) return everyone;
  const names = plan.pools.map(({ name }) => name);
  const pools = names.filter((name) => holders.includes(name));
  const all = pools.length > 1 && pools.length === names.length;
  const some = pools.length > 3 ? [`${pools.length} of ${names.length} pools`] : pools;
  const others = [controlPlaneName, podsName].filter((name) => holders.includes(name));
  return [...others, ...(all ? ["all pools"] : some)].join(", ");
}

function words(name: string): string {
  return name.replaceAll("-", " ").replace("control plane", controlPlaneName);
}

function text(value: unknown, path: string): string {
  const found = at(value, path);
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
}

function texts(value: unknown, path: string): readonly string[] {
  const found = at(value, path);
  return (Array.isArray(found) ? found : [found]).filter((each) => typeof each === "string");
}
