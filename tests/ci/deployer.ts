import { loadConfig } from "../../components/config/load.ts";
import { policies, type StackScope } from "../../examples/ci/awsPolicies.ts";
import { ciRoles, rolesOf } from "../../examples/ci/azureRoles.ts";
import { ciStackOf } from "../../examples/ci/config.ts";
import type { Purpose } from "../../examples/ci/environments.ts";
import { awsCalls } from "../../plan/calls/aws.ts";
import { azureActions, type DeployerRequest } from "../../plan/calls/azure.ts";
import { rolesAllow } from "../../plan/fakes/azureAccess.ts";
import { builtInRoles } from "../../plan/fakes/azureRoles.ts";
import { placeOf } from "../../plan/fakes/cloud.ts";
import { allows } from "../../plan/fakes/iam.ts";
import type { Deployer } from "../../plan/providers/cloud.ts";

type Config = Readonly<Record<string, string>>;

/** What bounds the rights of a stack's workflows on AWS, with a made-up place for the state. */
export function scopeOf(stack: string, config: Config): StackScope {
  const { region, accountId } = placeOf(config);
  return {
    ...ciStackOf(stack, loadConfig(config)),
    region,
    accountId,
    bucketArn: "arn:aws:s3:::fenestra-state-x",
    keyArn: `arn:aws:kms:${region}:${accountId}:key/state`,
  };
}

/** What a workflow's role may, as `examples/ci` makes it. */
export function workflowDeployer(purpose: Purpose, stack: string, config: Config): Deployer {
  const place = placeOf(config);
  const scope = scopeOf(stack, config);
  const documents = Object.values(policies[purpose](scope));
  const mayOnAzure = azureRights(purpose, scope);
  return (operation, resource, program) => {
    const refused = resource.type.startsWith("azure-native:")
      ? azureActions(resource, operation).find((request) => !mayOnAzure(request))
      : awsCalls(program, place, resource, operation).find((call) => !allows(documents, call));
    if (refused !== undefined)
      throw new Error(`AccessDenied: ${purpose} may not ${refused.action} on ${refused.resource}`);
  };
}

function azureRights(
  purpose: Purpose,
  { accountId, network, pods }: StackScope,
): (request: DeployerRequest) => boolean {
  const held = rolesOf(purpose, { pods, network }).flatMap(({ role, on, condition }) => {
    if (on !== "subscription") return [];
    const rights = builtInRoles[ciRoles[role]];
    if (rights === undefined) throw new Error(`the rights of ${role} are not known`);
    return [{ scope: `/subscriptions/${accountId}`, rights, condition }];
  });
  return (request) => {
    const { role } = request;
    return rolesAllow(
      held.filter(({ condition }) => role === undefined || (condition ?? role).includes(role)),
      request,
    );
  };
}
