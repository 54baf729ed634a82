import { type AzureNeeds, path } from "../../../components/gates/account/azure/needs.ts";
import { made } from "../../../components/gates/account/needs.ts";
import {
  doubtful,
  notAsked,
  type Question,
  refused,
  shortOf,
  some,
} from "../../../components/gates/account/question.ts";
import { resourcesOfType } from "../../../components/gates/values.ts";
import { rolesAllow, within } from "../../../plan/fakes/azureAccess.ts";
import { azureActions } from "../../../plan/fakes/calls.ts";
import type { RecordedProgram } from "../../../plan/program/recorded.ts";

export type Recorded = Omit<AzureNeeds, "program"> & { readonly program: RecordedProgram };

const kinds = [
  "compute:VirtualMachineScaleSet",
  "compute:VirtualMachine",
  "network:PublicIPAddress",
  "network:VirtualNetwork",
  "storage:StorageAccount",
  "keyvault:Vault",
];

export const rightsQuestions: readonly Question<Recorded>[] = [
  {
    // Every action of the plan, by the caller's permissions, groups and inherited roles included.
    id: "rights",
    async *run({ program, subscription, group, asker }, ask) {
      if (asker.deployer !== undefined) {
        yield notAsked("Azure tells the rights of the caller alone", "run it as the deployer");
        return;
      }
      const scope = group.isMade ? subscription : group.id;
      const at = path(`${scope}/providers/Microsoft.Authorization/permissions`, "2022-04-01");
      const held = (await ask("Microsoft.Authorization/permissions/read", at))
        .list("value")
        .map((each) => ({
          scope: "",
          rights: {
            actions: each.list("actions").map((one) => one.text("")),
            notActions: each.texts("notActions"),
            dataActions: each.texts("dataActions"),
            notDataActions: each.texts("notDataActions"),
          },
        }));
      const missing = program.resources
        .filter(({ type, read }) => type.startsWith("azure-native:") && read === undefined)
        .flatMap((each) => azureActions(each, "create"))
        // What stands elsewhere may be given there.
        .filter(({ resource }) => within(resource, scope))
        .filter((request) => !rolesAllow(held, { ...request, resource: "/" }))
        .map(({ action }) => action);
      const more = missing.some((each) => each.includes("roleAssignments"))
        ? ", and the same with --role 'Role Based Access Control Administrator'"
        : "";
      if (missing.length > 0)
        yield refused(
          `this identity may not ${some(missing)} at ${scope}`,
          `az role assignment create --assignee OBJECT_ID --scope ${scope} --role Contributor${more}`,
        );
    },
  },
  {
    // A fixed number in a subscription, its groups and resources (Azure documentation, "Troubleshoot Azure RBAC limits").
    id: "role-quota",
    async *run({ program, subscription, group }, ask) {
      const at = path(`${subscription}/providers/Microsoft.Authorization/roleAssignments`, "2022-04-01");
      const all = (await ask("Microsoft.Authorization/roleAssignments/read", at)).list("value");
      const isOthers = (scope: string): boolean => within(scope, subscription) && !within(scope, group.id);
      const others = all.filter((each) => isOthers(each.text("properties.scope", ""))).length;
      const counts = [resourcesOfType(program, "azure-native:authorization:RoleAssignment").length] as const;
      const raise = () =>
        "take away role assignments that nobody needs, or another subscription: Azure raises it for nobody";
      yield* shortOf({ what: "role assignments", quota: "of a subscription", limit: 4000, others, counts, raise });
    },
  },
  {
    // Roles may be given under a condition, which must have those of the plan.
    id: "role-conditions",
    async *run({ program, subscription, asker }, ask) {
      const oid = asker.deployer ?? (await ask("token")).text("oid");
      const filter = `&$filter=${encodeURIComponent(`assignedTo('${oid}')`)}`;
      const at = path(`${subscription}/providers/Microsoft.Authorization/roleAssignments`, `2022-04-01${filter}`);
      const conditions = (await ask("Microsoft.Authorization/roleAssignments/read", at))
        .list("value")
        .map((each) => each.text("properties.condition", "").toLowerCase())
        .filter((condition) => condition.includes("roledefinitionid"));
      if (conditions.length === 0) return;
      const missing = resourcesOfType(program, "azure-native:authorization:RoleAssignment")
        .map(({ inputs }) => String(inputs.roleDefinitionId).split("/").at(-1) ?? "")
        .filter((role) => !conditions.some((condition) => condition.includes(role.toLowerCase())));
      if (missing.length > 0)
        yield doubtful(
          `a condition limits which roles this identity gives, and does not name ${some(missing)}`,
          "add them to the condition of its role assignment (examples/ci/azureRoles.ts has the list), or take the condition away",
        );
    },
  },
  {
    // Assigned policies that deny, by what Azure says of each kind of resource.
    id: "policies",
    async *run({ program, subscription, group }, ask) {
      const scope = group.isMade ? subscription : group.id;
      for (const kind of kinds) {
        const [found] = made(program, `azure-native:${kind}`);
        if (found?.id === undefined) continue;
        const [, type = ""] = /.*\/providers\/([^/]+\/[^/]+)\//.exec(found.id) ?? [];
        const { location, tags, sku, zones, properties = {} } = found.inputs;
        const resourceContent = { ...{ type, location, tags, sku, zones }, properties };
        const right = "Microsoft.PolicyInsights/checkPolicyRestrictions/action";
        const call = {
          at: path(`${scope}/providers/Microsoft.PolicyInsights/checkPolicyRestrictions`, "2022-03-01"),
          body: { resourceDetails: { resourceContent, apiVersion: "2023-07-01" } },
        };
        const answer = await ask(right, call, /^(MissingSubscriptionRegistration|InvalidRequestContent)$/);
        for (const each of answer.list("contentEvaluationResult.policyEvaluations")) {
          const effect = each.text("effectDetails.policyEffect", "deny");
          const policy = each.text("policyInfo.policyAssignmentId", "");
          if (each.text("evaluationResult") === "NonCompliant" && /^deny$/i.test(effect))
            yield refused(
              `the policy ${policy} refuses ${type} in ${String(location)}`,
              `az policy assignment show --ids ${policy}; then fenestra:tags, fenestra:region or an exemption`,
            );
        }
      }
    },
  },
];
