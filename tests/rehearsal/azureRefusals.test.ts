import assert from "node:assert/strict";
import { startedScript } from "../../plan/decode/userData.ts";
import type { EndpointAnswer } from "../../rehearsal/clouds/server.ts";
import { Recording } from "../support/recording.ts";
import { documentOf, group, start } from "./azureCluster.ts";

// What the simulated Azure gives every rehearsal sees; here is what it refuses, where the node controller
// (azure.py: sizes, ends of machines) or the program relies on the refusal.
const management = "https://management.azure.com";
const sets = `${management}${group}/providers/Microsoft.Compute/virtualMachineScaleSets`;
const instance = "/azure-dev-linux/virtualMachines";
const api = "?api-version=2024-07-01";
const codes = (answer: EndpointAnswer) => {
  const error = Object(documentOf(answer).error);
  return `${answer.status} ${error.innererror?.code ?? error.code}`;
};

describe("the simulated Azure refuses", () => {
  it("a change of a scale set for an older one, beside another one, of no machine, and a worker's", async () => {
    const { controlPlane, worker } = start();
    const token = await controlPlane.token(management);
    const change = async (method: string, tail: string, body: object, headers = {}, by = token) =>
      codes(
        await controlPlane.call(method, `${sets}${instance.replace("/virtualMachines", "")}${tail}${api}`, by, {
          body: JSON.stringify(body),
          headers,
        }),
      );
    assert.equal(codes(await controlPlane.call("GET", `${sets}${instance}/7${api}`, token)), "404 NotFound");
    const [one, size] = [{ instanceIds: ["1"] }, { sku: { capacity: 3 } }];
    assert.equal(await change("PATCH", "", size, { "if-match": '"2"' }), "412 PreconditionFailed");
    assert.equal(await change("POST", "/delete", { instanceIds: ["7"] }), "400 InstanceIdsListInstanceIdNotActiveVM");
    assert.equal(await change("PATCH", "", size, {}, await worker.token(management)), "403 AuthorizationFailed");
    assert.match(await change("PATCH", "", size, { "if-match": '"1"' }), /^202/);
    assert.match(await change("POST", "/delete", one, { "if-match": '"1"' }), /^202/);
    assert.equal(await change("PATCH", "", size, { "if-match": '"3"' }), "409 Conflict");
    assert.match(
      String((await controlPlane.call("GET", `${sets}${api}`, token)).body),
      /"sku":{"capacity":2},"etag":"\\"3\\""/,
    );
  });

  it("a role that somebody has already", () => {
    const all = new Recording({ region: "westeurope", accountId: "s" });
    const assign = (name: string, scope: string) =>
      all.add("azure-native:authorization:RoleAssignment", name, { principalId: "p", roleDefinitionId: "r", scope });
    assign("one", "/subscriptions/s/resourceGroups/a");
    assert.throws(() => assign("two", "/subscriptions/s/resourcegroups/A"), /^Error: RoleAssignmentExists/);
  });

  it("commands of the Windows extension that would start nothing", () => {
    const data = "C:\\AzureData\\CustomData.bin";
    const run = "powershell.exe -NoProfile -ExecutionPolicy Bypass -File C:\\a.ps1";
    const refused: readonly (readonly [command: string, RegExp])[] = [
      [`copy /y C:\\AzureData\\Other.bin C:\\a.ps1 && ${run}`, /the extension copies C:\\AzureData\\Other.bin/],
      [`copy /y ${data} C:\\b.ps1 && ${run}`, /to C:\\b.ps1 and runs C:\\a.ps1/],
      [`copy /y ${data} C:\\a && powershell.exe -File C:\\a`, /PowerShell runs no file named C:\\a$/],
      [`copy /y ${data} C:\\a.ps1`, /is not a copy and a start/],
      [`copy /y "${data}" C:\\a.ps1 && ${run}`, /characters that cmd changes/],
      [`copy /y ${data} C:\\${"a".repeat(8200)}.ps1 && ${run}`, /cmd takes 8191/],
    ];
    for (const [command, message] of refused) assert.throws(() => startedScript(command), message);
  });
});
