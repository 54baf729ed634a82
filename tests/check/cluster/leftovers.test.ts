import assert from "node:assert/strict";
import { type FoundObject, heldBy, leftovers } from "../../../cli/down/leftovers.ts";

function found(kind: string, name: string, more: Partial<FoundObject["metadata"]> = {}): FoundObject {
  return {
    kind,
    metadata: {
      name,
      namespace: kind === "PersistentVolume" ? undefined : "shop",
      labels: {},
      finalizers: [],
      managers: ["kubectl-client-side-apply"],
      deleting: false,
      ...more,
    },
  };
}
const nothing = { services: [], claims: [], volumes: [], namespaces: [] };
const own = { labels: { "app.kubernetes.io/part-of": "fenestra-samples" } };
const volume = { ...found("PersistentVolume", "pv-1"), reclaimPolicy: "Delete", handle: "vol-1", claim: "shop/data" };

describe("leftovers", () => {
  it("are none of the program's own objects, by label or field manager", () => {
    const services = [
      { ...found("Service", "iis", own), address: "203.0.113.1" },
      { ...found("Service", "web", { managers: ["fenestra", "aws-cloud-controller-manager"] }), address: undefined },
    ];
    const claims = [{ ...found("PersistentVolumeClaim", "data", own), volume: "pv-1" }];
    assert.deepEqual(leftovers({ ...nothing, services, claims, volumes: [volume] }), []);
  });

  it("are what users made, also by Pulumi: load balancers, claims and volumes", () => {
    const managers = ["pulumi-kubernetes-1a2b", "aws-cloud-controller-manager"];
    const services = [{ ...found("Service", "front", { managers }), address: "203.0.113.9" }];
    const claims = [{ ...found("PersistentVolumeClaim", "data", { managers }), volume: "pv-1" }];
    const left = leftovers({ ...nothing, services, claims, volumes: [volume] });
    const objects = left.map(({ object }) => object);
    assert.deepEqual(objects, ["PersistentVolume pv-1", "PersistentVolumeClaim shop/data", "Service shop/front"]);
    assert.equal(left[2]?.fix, "kubectl -n shop delete service front");
    assert.match(left[0]?.problem ?? "", /vol-1.* shop\/data /);
  });

  it("are retained volumes also without a claim", () => {
    const [left] = leftovers({ ...nothing, volumes: [{ ...volume, reclaimPolicy: "Retain", claim: undefined }] });
    assert.equal(left?.problem, "its reclaim policy is Retain: its disk (vol-1) stays in the cloud in any case");
  });

  it("are retained disks that go with Azure's resource group", () => {
    const handle = "/subscriptions/0123/resourceGroups/fenestra-azure-dev/providers/Microsoft.Compute/disks/pvc-1";
    const [left] = leftovers({ ...nothing, volumes: [{ ...volume, reclaimPolicy: "Retain", handle }] });
    assert.match(left?.problem ?? "", /is in the cluster's resource group and is deleted with that$/);
    assert.match(left?.fix ?? "", new RegExp(`az snapshot create .* --name pv-1 --source ${handle}$`));
  });

  it("are objects that do not go, whoever made them", () => {
    const stuck = {
      ...found("Service", "iis", {
        ...own,
        deleting: true,
        finalizers: ["service.kubernetes.io/load-balancer-cleanup"],
      }),
      address: undefined,
    };
    const left = leftovers({ ...nothing, services: [stuck], namespaces: [found("Namespace", "calm")] });
    const problems = left.map(({ problem }) => problem);
    assert.deepEqual(problems, [
      "it is being deleted and does not go: finalizers service.kubernetes.io/load-balancer-cleanup",
    ]);
  });

  it("come with what of others may stop the destruction, on the cloud of the nodes", () => {
    const azure = heldBy("azure:///subscriptions/1/x").join("\n");
    assert.match(azure, /PrivateZone: links to other networks\n {2}az network private-dns link vnet list/);
    assert.match(azure, /VirtualNetwork: .*AzureBastionSubnet/);
    assert.match(heldBy("aws:///eu-central-1a/i-1").join("\n"), /iam\/policy:Policy: .*\n {2}aws iam list-entities/);
    assert.deepEqual(heldBy(""), []);
  });
});
