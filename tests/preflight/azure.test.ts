import assert from "node:assert/strict";
import { azureNeeds } from "../../preflight/azure/needs.ts";
import { azureQuestions } from "../../preflight/azure/questions.ts";
import type { Outcome } from "../../preflight/question.ts";
import { askIn, code, here, sendTo, type World } from "./world.ts";

const subscription = "/subscriptions/00000000-0000-4000-8000-000000000000";
const list = (...value: readonly object[]) => ({ value });
const usage = (name: string, currentValue: number, limit: number) => ({ name: { value: name }, currentValue, limit });

/** The fields of Resource SKUs (Microsoft.Compute/skus, 2021-07-01) that the questions read; no example of ARM was copied. */
const sku = (name: string, more: object = {}, atHost = "True") => ({
  resourceType: "virtualMachines",
  name,
  family: "standardDSv5Family",
  locations: ["westeurope"],
  locationInfo: [{ location: "westeurope", zones: ["1", "2", "3"] }],
  capabilities: [
    { name: "vCPUs", value: "2" },
    { name: "EncryptionAtHostSupported", value: atHost },
  ],
  restrictions: [],
  ...more,
});
const restricted = (type: string, reasonCode: string, zones: readonly string[] = []) => ({
  restrictions: [{ type, reasonCode, values: ["westeurope"], restrictionInfo: { locations: ["westeurope"], zones } }],
});
const sizes = ["Standard_D2s_v5", "Standard_D4s_v5", "Standard_D4s_v6", "Standard_D4ds_v5", "Standard_D8s_v5"];
const versions = "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read";
const image = (properties: object) => ({
  [versions]: ({ at = "" }: { at?: string }) =>
    at.includes("/versions?") ? [{ name: "24.04.9" }, { name: "24.04.10" }] : { properties },
});
const network = [
  "StandardSkuPublicIpAddresses",
  "LoadBalancers",
  "NatGateways",
  "VirtualNetworks",
  "NetworkSecurityGroups",
];
const networkUsages = (limit: number) => list(...network.map((name) => usage(name, 1, limit)));

/** A subscription that has room for everything. */
const roomy: World = {
  "Microsoft.Resources/subscriptions/read": {
    state: "Enabled",
    subscriptionPolicies: { quotaId: "PayAsYouGo_2014-09-01", spendingLimit: "Off" },
  },
  "Microsoft.Resources/subscriptions/locations/read": list({ name: "westeurope" }),
  "Microsoft.Resources/subscriptions/providers/read": list(
    ...["Compute", "Network", "ManagedIdentity", "Authorization", "KeyVault", "Storage"].map((name) => ({
      namespace: `Microsoft.${name}`,
      registrationState: "Registered",
    })),
  ),
  "Microsoft.Resources/subscriptions/resourceGroups/read": code("ResourceGroupNotFound"),
  "Microsoft.Authorization/locks/read": list(),
  "Microsoft.Compute/skus/read": list(...sizes.map((each) => sku(each))),
  "Microsoft.Compute/locations/usages/read": list(usage("cores", 4, 500), usage("standardDSv5Family", 4, 500)),
  "Microsoft.Network/locations/usages/read": networkUsages(100),
  "Microsoft.Compute/virtualMachineScaleSets/read": code("ResourceGroupNotFound"),
  "Microsoft.Compute/virtualMachines/read": code("ResourceGroupNotFound"),
  "Microsoft.Features/providers/features/read": { properties: { state: "Registered" } },
  ...image({ osDiskImage: { sizeInGb: 30 }, imageDeprecationStatus: { imageState: "Active" } }),
  "Microsoft.Authorization/permissions/read": list({ actions: ["*"], notActions: [] }),
  "Microsoft.Authorization/roleAssignments/read": list({ properties: { condition: null } }),
  token: { oid: "11111111-1111-4111-8111-111111111111" },
  "Microsoft.PolicyInsights/checkPolicyRestrictions/action": { contentEvaluationResult: { policyEvaluations: [] } },
};

const ask = (world: World, scene: Partial<Parameters<typeof askIn>[2]> = {}) =>
  askIn(azureQuestions, azureNeeds, { stack: "azure-dev", ...scene }, sendTo({ ...roomy, ...world }), (own, more) => ({
    ...own,
    ...more,
  }));

type Case = readonly [id: string, outcome: Outcome, says: RegExp, world: World, scene?: Parameters<typeof ask>[1]];
const contributor = list({
  actions: ["*"],
  notActions: ["Microsoft.Authorization/*/Write", "Microsoft.Authorization/*/Delete"],
});

/** Each question, seen refused or doubted; the first test sees all of them fine. */
const cases: readonly Case[] = [
  ["account", "refused", /is Warned.*Reactivate/, { "Microsoft.Resources/subscriptions/read": { state: "Warned" } }],
  [
    "account",
    "refused",
    /sees no subscription/,
    { "Microsoft.Resources/subscriptions/read": code("SubscriptionNotFound") },
  ],
  [
    "account",
    "doubtful",
    /FreeTrial/,
    {
      "Microsoft.Resources/subscriptions/read": {
        state: "Enabled",
        subscriptionPolicies: { quotaId: "FreeTrial_2014-09-01", spendingLimit: "On" },
      },
    },
  ],
  [
    "providers",
    "refused",
    /az provider register --wait --namespace Microsoft.KeyVault/,
    {
      "Microsoft.Resources/subscriptions/providers/read": list(
        ...["Compute", "Network", "ManagedIdentity", "Authorization", "Storage"].map((name) => ({
          namespace: `Microsoft.${name}`,
          registrationState: "Registered",
        })),
      ),
    },
  ],
  ["names", "refused", /fenestra-azure-dev exists/, { "Microsoft.Resources/subscriptions/resourceGroups/read": {} }],
  [
    "names",
    "fine",
    /^$/,
    { "Microsoft.Resources/subscriptions/resourceGroups/read": { tags: { "fenestra:cluster": "azure-dev" } } },
  ],
  [
    "locks",
    "refused",
    /read-only.*az lock delete/,
    {
      "Microsoft.Authorization/locks/read": list({
        id: `${subscription}/providers/Microsoft.Authorization/locks/a`,
        properties: { level: "ReadOnly" },
      }),
    },
  ],
  [
    "vcpu-quota",
    "refused",
    /14 vCPUs are needed; the quota cores of westeurope is 10, others use 4.*az quota update/,
    { "Microsoft.Compute/locations/usages/read": list(usage("cores", 4, 10), usage("standardDSv5Family", 0, 100)) },
  ],
  [
    "vcpu-quota",
    "doubtful",
    /while pools roll/,
    { "Microsoft.Compute/locations/usages/read": list(usage("cores", 4, 18), usage("standardDSv5Family", 0, 100)) },
  ],
  [
    "address-quota",
    "refused",
    /StandardSkuPublicIpAddresses of westeurope is 1/,
    { "Microsoft.Network/locations/usages/read": networkUsages(1) },
  ],
  [
    "network-quota",
    "refused",
    /VirtualNetworks of westeurope is 1/,
    { "Microsoft.Network/locations/usages/read": networkUsages(1) },
  ],
  [
    "size",
    "refused",
    /closed to this subscription in the zones 1 \(NotAvailableForSubscription\)/,
    {
      "Microsoft.Compute/skus/read": list(
        sku("Standard_D2s_v5", restricted("Zone", "NotAvailableForSubscription", ["1"])),
      ),
    },
  ],
  [
    "size",
    "refused",
    /\(QuotaId\).*this offer does not have it/,
    { "Microsoft.Compute/skus/read": list(sku("Standard_D2s_v5", restricted("Location", "QuotaId"))) },
  ],
  ["size", "refused", /has no Standard_D2s_v5/, { "Microsoft.Compute/skus/read": list(sku("Standard_F4s_v2")) }],
  [
    "encryption-at-host",
    "refused",
    /NotRegistered.*az feature register/,
    { "Microsoft.Features/providers/features/read": { properties: { state: "NotRegistered" } } },
    { changes: { encryptionAtHost: true } },
  ],
  ["image", "refused", /24.04.10 is withdrawn/, image({ imageDeprecationStatus: { imageState: "Deprecated" } })],
  ["image", "refused", /has no image Canonical/, { [versions]: code("NotFound") }],
  ["image", "refused", /diskGb: 200/, image({ osDiskImage: { sizeInGb: 200 } })],
  [
    "rights",
    "refused",
    /may not Microsoft.Authorization\/roleAssignments\/write.*Role Based Access Control Administrator/,
    { "Microsoft.Authorization/permissions/read": contributor },
  ],
  ["rights", "not asked", /as the deployer/, {}, { asker: { ...here, deployer: "x" } }],
  [
    "role-conditions",
    "doubtful",
    /does not name/,
    {
      "Microsoft.Authorization/roleAssignments/read": list({
        properties: { condition: "RoleDefinitionId GuidEquals {9980e02c}" },
      }),
    },
  ],
  [
    "policies",
    "refused",
    /policyAssignments\/regions refuses Microsoft.Compute\/virtualMachineScaleSets in westeurope/,
    {
      "Microsoft.PolicyInsights/checkPolicyRestrictions/action": {
        contentEvaluationResult: {
          policyEvaluations: [
            {
              policyInfo: { policyAssignmentId: "policyAssignments/regions" },
              evaluationResult: "NonCompliant",
              effectDetails: { policyEffect: "Deny" },
            },
          ],
        },
      },
    },
  ],
  ["reach-api", "refused", /add 198.51.100.1\/32/, {}, { asker: { ...here, address: "198.51.100.1" } }],
  ["clock", "doubtful", /90 s/, {}, { skewMs: -90_000 }],
];

describe("the questions to Azure", function () {
  this.timeout(60_000);

  it("refuse nothing of a subscription with room", async () => {
    for (const stack of ["azure-dev", "azure-cni"]) {
      const found = Object.values(await ask({}, { stack })).flatMap(({ objections }) => objections);
      assert.deepEqual(
        found.filter(({ outcome }) => outcome !== "doubtful"),
        [],
        stack,
      );
    }
  });

  for (const [id, outcome, says, world, scene] of cases)
    it(`${id}: ${outcome}, ${says.source}`, async () => {
      const { [id]: answer } = await ask(world, scene);
      assert.equal(answer?.outcome, outcome, JSON.stringify(answer));
      if (outcome !== "fine")
        assert.match(answer?.objections.map(({ text, mend }) => `${text} ${mend}`).join(" ") ?? "", says);
    });

  it("have a case for each of them, and a right for each call that is forbidden", async () => {
    const seen = new Set(cases.map(([id]) => id));
    assert.deepEqual(
      azureQuestions.map(({ id }) => id).filter((id) => !seen.has(id)),
      [],
    );
    for (const right of Object.keys(roomy).filter((each) => each !== "token")) {
      const scene = right.includes("Features") ? { changes: { encryptionAtHost: true } } : {};
      const silent = Object.values(await ask({ [right]: code("AuthorizationFailed", "denied") }, scene)).flatMap(
        ({ objections }) => objections,
      );
      assert.ok(
        silent.some((each) => each.outcome === "not asked" && each.right === right),
        right,
      );
    }
  });
});
