import assert from "node:assert/strict";
import type { V1Node, V1ServiceSpec } from "@kubernetes/client-node";
import { goneNodes } from "../../rehearsal/clouds/cloudController.ts";
import { balancerRefusal } from "../../rehearsal/clouds/controllers.ts";

const instance = {
  providerId: "aws:///eu-central-1a/i-1",
  zone: "eu-central-1a",
  region: "eu-central-1",
  instanceType: "m7i.large",
  address: "10.0.0.1",
  ofCluster: true,
};

describe("the simulated cloud controller", () => {
  it("removes a node whose instance is gone when it is no longer Ready, and not before", () => {
    const node = (name: string, providerID: string, ready?: string): V1Node => ({
      metadata: { name },
      spec: { providerID },
      status: { conditions: ready === undefined ? [] : [{ type: "Ready", status: ready }] },
    });
    const gone = "aws:///eu-central-1a/i-2";
    const nodes = [
      node("dead", gone, "Unknown"),
      node("silent", gone),
      node("ready", gone, "True"),
      node("sick", instance.providerId, "False"),
      { metadata: { name: "none" } },
    ];
    assert.deepEqual(goneNodes(nodes, [instance]), ["dead", "silent"]);
  });

  it("makes no load balancer of a Service that it would refuse or leave to others", () => {
    const refused = (cloud: "aws" | "azure", spec: V1ServiceSpec, type?: string) => {
      const annotations = type === undefined ? {} : { "service.beta.kubernetes.io/aws-load-balancer-type": type };
      return balancerRefusal({ metadata: { annotations }, spec }, cloud) !== undefined;
    };
    const sticky = { sessionAffinity: "ClientIP" };
    const fixed = { loadBalancerIP: "10.0.0.9" };
    assert.deepEqual(
      [refused("aws", {}), refused("aws", {}, "nlb"), refused("azure", sticky), refused("azure", fixed)],
      [false, false, false, false],
    );
    assert.deepEqual([refused("aws", sticky), refused("aws", fixed), refused("aws", {}, "external")], [true, true, true]);
    assert.equal(refused("azure", { loadBalancerClass: "example.com/other" }), true);
  });
});
