import assert from "node:assert/strict";
import { roles } from "../../components/azure/roles.ts";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { logs } from "../kubernetes/switches.ts";
import { azureType, ofType, resource, runSpec, specOf } from "../support/mocks.ts";

describe("logs to Azure Monitor", () => {
  it("are written by one identity, to one rule and no other, by tokens of one service account", async () => {
    const access = { serviceAccountKeys: ["rsa-1"], workloadIdentity: {} };
    const stack = specOf("azure-dev", { access });
    const spec = { ...stack, addons: { ...stack.addons, logs: logs("azure") } };
    const recorded = await runSpec(spec);
    const name = "azure-dev-fenestra-monitoring_log-collector";
    const assigned = [...ofType(recorded, azureType("authorization:RoleAssignment")).values()].filter((each) =>
      each.name.startsWith(name),
    );
    const rights = assigned.map(({ inputs }) => [
      textOf(inputs.scope),
      textOf(inputs.roleDefinitionId)?.split("/").at(-1),
    ]);
    assert.deepEqual(rights, [[logs("azure").azureMonitor?.dataCollectionRule, roles.monitoringMetricsPublisher]]);
    const trust = resource(recorded, azureType("managedidentity:FederatedIdentityCredential"), `${name}-credential`);
    assert.equal(trust.inputs.subject, "system:serviceaccount:fenestra-monitoring:log-collector");
    const identity = resource(recorded, azureType("managedidentity:UserAssignedIdentity"), `${name}-identity`);
    const set = resource(
      recorded,
      "kubernetes:apps/v1:DaemonSet",
      "azure-dev-in-logs-fenestra-monitoring-log-collector-windows",
    );
    const text = JSON.stringify(mapOf(set.inputs.spec));
    assert.ok(text.includes(`"name":"AZURE_CLIENT_ID","value":"${textOf(identity.outputs.clientId)}"`));
    assert.ok(text.includes('"audience":"api://AzureADTokenExchange"'));
  });
});
