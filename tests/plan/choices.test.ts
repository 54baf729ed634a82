import assert from "node:assert/strict";
import { choicesInWords } from "../../plan/report/makePlan.ts";
import { specOf } from "../support/mocks.ts";
import { stackConfig } from "../support/stacks.ts";

describe("what a stack file chooses beyond nodes and network", () => {
  it("is said by the plan in words, without defaults", () => {
    assert.deepEqual(choicesInWords(specOf("aws-dev")), []);
    const dns = { name: "api.shop.example.com", zone: "Z0123456789ABCDEFGHIJ" };
    const own = choicesInWords(
      specOf("aws-private", {
        httpProxy: "http://proxy.corp.example:3128",
        certificateAuthorities: stackConfig("aws-restricted")["fenestra:certificateAuthorities"] ?? "",
        access: { dns, names: ["10.99.0.7"], public: { allow: ["198.18.0.0/24"] } },
        controlPlane: { osDisk: { type: "io2" }, extraArgs: { etcd: { "heartbeat-interval": "200" } } },
      }),
    );
    assert.deepEqual(own, [
      "the API is known as api.shop.example.com, 10.99.0.7",
      "its record is made in Z0123456789ABCDEFGHIJ",
      "Secrets in etcd have the keys key2, key1",
      "machines trust authorities of yours: 1",
      "downloads by http://proxy.corp.example:3128",
      "flags of yours etcd --heartbeat-interval",
      "disks of yours for control plane",
      "settings of yours for the kubelets of linux",
      "scripts of yours on linux",
    ]);
  });
});
