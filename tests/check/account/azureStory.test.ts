import { questions } from "../../../check/account/azure/account.ts";
import { azureNeeds } from "../../../components/gates/account/azure/needs.ts";
import { askIn, cloudOf, differing, type Following, firstDay, follow, sendTo } from "./world.ts";

const set = (name: string) =>
  `/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/${name}`;
const pool = { os: "linux", diskGb: 64, count: 1, image: "latest", zones: ["2"] };
const disk = { encryptionKey: set("far") };

const changes = {
  encryptionAtHost: true,
  network: { zones: ["1", "2"] },
  access: { public: { allow: ["198.51.100.0/24"] } },
  pools: [
    { ...pool, name: "old", image: "24.04.8" },
    { ...pool, name: "keyed", disk },
    { ...pool, name: "small", image: "24.04.9" },
    { ...pool, name: "rare", zones: ["1"], size: "Standard_D4s_v5" },
  ],
};
const { day, poolOf, mends } = firstDay(changes);
const versions = "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read $when";
const policies = "Microsoft.PolicyInsights/checkPolicyRestrictions/action contentEvaluationResult.policyEvaluations";
const lock = "/subscriptions/00000000-0000-4000-8000-000000000000/providers/Microsoft.Authorization/locks/a";
const usages = [
  "Compute/locations/usages/read value.0",
  "Compute/locations/usages/read value.1",
  "Network/locations/usages/read value.0",
];
const quotas = ["cores", "standardDSv5Family", "StandardSkuPublicIpAddresses"];
const subscription: Record<string, unknown> = {
  "Microsoft.Resources/subscriptions/read state": "Warned",
  "Microsoft.Resources/subscriptions/providers/read value.4.registrationState": "NotRegistered",
  "Microsoft.Resources/subscriptions/resourceGroups/read": { name: "fenestra-azure-dev" },
  "Microsoft.Authorization/locks/read value": [{ id: lock, properties: { level: "ReadOnly" } }],
  "Microsoft.Authorization/permissions/read value.0.notActions": ["Microsoft.Authorization/*/Write"],
  "Microsoft.Compute/skus/read value.1.restrictions": [
    { type: "Zone", reasonCode: "NotAvailableForSubscription", restrictionInfo: { zones: ["1"] } },
  ],
  ...Object.fromEntries(usages.map((usage) => [`Microsoft.${usage}.limit`, 5])),
  "Microsoft.Network/locations/usages/read value.0.limit": 1,
  "Microsoft.Features/providers/features/read properties.state": "NotRegistered",
  "Microsoft.Compute/diskEncryptionSets/read $when": { far: { location: "northeurope" } },
  [versions]: {
    "versions?": [{ name: "24.04.9" }, { name: "24.04.10" }],
    "/24.04.9?": { properties: { osDiskImage: { sizeInGb: 127 } } },
  },
  [policies]: [
    {
      policyInfo: { policyAssignmentId: "regions" },
      evaluationResult: "NonCompliant",
      effectDetails: { policyEffect: "Deny" },
    },
  ],
};
const mended = (name: string) => (): void => {
  delete subscription[name];
};

const following: Following = [
  ...mends,
  [
    /^another image in fenestra:pools, pool (\w+): one of /,
    (_, name) => {
      poolOf(name).image = "latest";
    },
  ],
  [/^reactivate it: portal, Subscriptions/, mended("Microsoft.Resources/subscriptions/read state")],
  [
    /^az provider register --wait --namespace Microsoft.KeyVault$/,
    mended("Microsoft.Resources/subscriptions/providers/read value.4.registrationState"),
  ],
  [/az group delete --name fenestra-azure-dev /, mended("Microsoft.Resources/subscriptions/resourceGroups/read")],
  [/^az lock delete --ids \S+\/locks\/a$/, mended("Microsoft.Authorization/locks/read value")],
  [
    /^az role assignment create .* --role Contributor, and the same with --role 'Role Based Access Control Administrator'$/,
    mended("Microsoft.Authorization/permissions/read value.0.notActions"),
  ],
  [
    /^az quota update --resource-name (\S+) .* --limit-object value=(\d+)/,
    (_, name = "", value) => {
      subscription[`Microsoft.${usages[quotas.indexOf(name)]}.limit`] = Number(value);
    },
  ],
  [
    /^another size or other zones in fenestra:pools, pool (\w+);/,
    (_, name) => {
      poolOf(name).zones = ["2"];
    },
  ],
  [
    /^az feature register --namespace Microsoft.Compute --name EncryptionAtHost/,
    mended("Microsoft.Features/providers/features/read properties.state"),
  ],
  [
    /^another one in encryptionKey$/,
    () => {
      disk.encryptionKey = set("near");
    },
  ],
  [/^az policy assignment show --ids regions; then .* exemption$/, mended(policies)],
];

describe("a first day on a new subscription", function () {
  this.timeout(300_000);

  it("is mended by following the messages and nothing else", async () => {
    const { roomy } = cloudOf("azure");
    const ask = () => askIn(questions, azureNeeds, "azure-dev", day, sendTo(differing(roomy, subscription)));
    await follow(ask, following);
  });
});
