import { z } from "zod";
import { azureActions } from "../../plan/calls/azure.ts";
import { rolesAllow } from "../../plan/fakes/azureAccess.ts";
import { doubtful, notAsked, type Question, refused, some, unless } from "../question.ts";
import { type AzureNeeds, get, listed } from "./needs.ts";

const permission = z.object({
  actions: z.array(z.string()),
  notActions: z.array(z.string()).default([]),
  dataActions: z.array(z.string()).default([]),
  notDataActions: z.array(z.string()).default([]),
});

/** Every action of the plan, by the caller's own permissions (groups and inherited roles are in them). */
const rights: Question<AzureNeeds> = {
  id: "rights",
  async *run({ program, subscription, group, asker }, ask) {
    if (asker.deployer !== undefined) {
      yield notAsked("Azure tells the rights of the caller alone", "run it as the deployer");
      return;
    }
    const at = group.isMade ? subscription : group.id;
    const path = `${at}/providers/Microsoft.Authorization/permissions`;
    const { value } = await ask(
      get("Microsoft.Authorization/permissions/read", path, "2022-04-01"),
      listed(permission),
    );
    const held = value.map((each) => ({ scope: "", rights: each }));
    const missing = program.resources
      .filter(({ type, read }) => type.startsWith("azure-native:") && read === undefined)
      .flatMap((each) => azureActions(each, "create"))
      // What stands elsewhere may be given there.
      .filter(({ resource }) => resource.toLowerCase().startsWith(at.toLowerCase()))
      .filter((request) => !rolesAllow(held, { ...request, resource: "/" }))
      .map(({ action }) => action);
    if (missing.length > 0)
      yield refused(
        `this identity may not ${some(missing)} at ${at}`,
        `az role assignment create --assignee OBJECT_ID --scope ${at} --role Contributor${missing.some((each) => /roleAssignments/.test(each)) ? ", and the same with --role 'Role Based Access Control Administrator'" : ""}`,
      );
  },
};

/** Roles may be given by a condition only: it must have those of the plan. */
const roleConditions: Question<AzureNeeds> = {
  id: "role-conditions",
  async *run({ program, subscription, asker }, ask) {
    const oid = asker.deployer ?? (await ask({ right: "token", input: {} }, z.object({ oid: z.string() }))).oid;
    const { value } = await ask(
      get(
        "Microsoft.Authorization/roleAssignments/read",
        `${subscription}/providers/Microsoft.Authorization/roleAssignments`,
        "2022-04-01",
        `&$filter=${encodeURIComponent(`assignedTo('${oid}')`)}`,
      ),
      listed(z.object({ properties: z.object({ condition: z.string().nullish() }) })),
    );
    const conditions = value.flatMap(({ properties }) =>
      properties.condition?.includes("RoleDefinitionId") ? [properties.condition.toLowerCase()] : [],
    );
    if (conditions.length === 0) return;
    const needed = program.resources
      .filter(({ type }) => type === "azure-native:authorization:RoleAssignment")
      .map(({ inputs }) => String(inputs.roleDefinitionId).split("/").at(-1) ?? "");
    const missing = needed.filter((role) => !conditions.some((condition) => condition.includes(role.toLowerCase())));
    if (missing.length > 0)
      yield doubtful(
        `a condition limits which roles this identity gives, and does not name ${some(missing)}`,
        "add them to the condition of its role assignment (ci/azureRoles.ts has the list), or take the condition away",
      );
  },
};

/** Assigned policies that deny, by what Azure says of each kind of resource. */
const restrictions = z.object({
  contentEvaluationResult: z
    .object({
      policyEvaluations: z
        .array(
          z.object({
            policyInfo: z.object({ policyAssignmentId: z.string().default("") }).default({ policyAssignmentId: "" }),
            evaluationResult: z.string(),
            effectDetails: z.object({ policyEffect: z.string() }).optional(),
          }),
        )
        .default([]),
    })
    .optional(),
});

const policies: Question<AzureNeeds> = {
  id: "policies",
  async *run({ program, subscription, group }, ask) {
    const kinds = [
      "compute:VirtualMachineScaleSet",
      "compute:VirtualMachine",
      "network:PublicIPAddress",
      "network:VirtualNetwork",
      "storage:StorageAccount",
      "keyvault:Vault",
    ];
    for (const kind of kinds) {
      const found = program.resources.find(({ type, read }) => type === `azure-native:${kind}` && read === undefined);
      if (found?.id === undefined) continue;
      const type = /.*\/providers\/([^/]+\/[^/]+)\//.exec(found.id)?.[1] ?? "";
      const at = group.isMade ? subscription : group.id;
      const { location, tags, sku, zones } = found.inputs;
      const input = {
        resourceDetails: {
          resourceContent: {
            type,
            location,
            tags,
            sku,
            zones,
            properties: kind === "storage:StorageAccount" ? {} : found.inputs.properties,
          },
          apiVersion: "2023-07-01",
        },
      };
      const call = {
        right: "Microsoft.PolicyInsights/checkPolicyRestrictions/action",
        at: `POST ${at}/providers/Microsoft.PolicyInsights/checkPolicyRestrictions?api-version=2022-03-01`,
        input,
      };
      const answer = await unless(
        /^(MissingSubscriptionRegistration|InvalidRequestContent)$/,
        ask(call, restrictions),
        {},
      );
      for (const { evaluationResult, effectDetails, policyInfo } of "contentEvaluationResult" in answer
        ? (answer.contentEvaluationResult?.policyEvaluations ?? [])
        : [])
        if (evaluationResult === "NonCompliant" && /^deny$/i.test(effectDetails?.policyEffect ?? "deny"))
          yield refused(
            `the policy ${policyInfo.policyAssignmentId} refuses ${type} in ${String(location)}`,
            `az policy assignment show --ids ${policyInfo.policyAssignmentId}; then fenestra:tags, fenestra:region or an exemption`,
          );
    }
  },
};

export const rightsQuestions: readonly Question<AzureNeeds>[] = [rights, roleConditions, policies];
