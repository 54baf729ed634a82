import assert from "node:assert/strict";
import { Secrets } from "../../components/aws/secrets.ts";
import { Pki } from "../../components/pki/pki.ts";
import { Secret, textOf } from "../../plan/program/values.ts";
import { ofType, resource, specOf, withMocks } from "../support/mocks.ts";

const make = (stack: string) =>
  withMocks(
    () =>
      void new Secrets("s", {
        spec: specOf(stack),
        pki: new Pki("p", {
          cluster: "x",
          protect: false,
          serviceAccountKeys: ["ecdsa"],
          encryptionKeys: ["key1", "key2"],
          kubeconfigGeneration: 1,
        }),
      }),
  );

describe("secrets on AWS", () => {
  it("are these parameters, all encrypted with the cluster's own key, every value a secret", async () => {
    const recorded = await make("aws-dev");
    const key = resource(recorded, "aws:kms/key:Key", "s-key");
    const parameters = [...ofType(recorded, "aws:ssm/parameter:Parameter").values()];
    // Another value is another parameter: an update in place would leave the key out.
    const replaced = "replaced for value, deleted first";
    assert.deepEqual(
      parameters
        .map(({ inputs, options: { ignoreChanges, replaceOnChanges, deleteBeforeReplace } }) => [
          inputs.name,
          deleteBeforeReplace ? `replaced for ${replaceOnChanges}, deleted first` : `keeps ${ignoreChanges}`,
        ])
        .sort(),
      [
        ["/fenestra/aws-dev/control-plane/encryption-key", replaced],
        ["/fenestra/aws-dev/control-plane/encryption-key-key2", replaced],
        ["/fenestra/aws-dev/control-plane/etcd-ca", replaced],
        ["/fenestra/aws-dev/control-plane/front-proxy-ca", replaced],
        ["/fenestra/aws-dev/control-plane/initialised", "keeps value,keyId,type,tier"],
        ["/fenestra/aws-dev/control-plane/kubernetes-ca", replaced],
        ["/fenestra/aws-dev/control-plane/service-account", replaced],
        ["/fenestra/aws-dev/join", "keeps value,keyId,type,tier"],
      ],
    );
    for (const { name, inputs } of parameters) {
      assert.deepEqual([inputs.type, inputs.tier], ["SecureString", "Standard"], name);
      assert.equal(inputs.keyId, key.outputs.arn, name);
      assert.ok(inputs.value instanceof Secret, name);
      // A standard parameter takes 4,096 characters (AWS Systems Manager API Reference, PutParameter).
      assert.ok((textOf(inputs.value) ?? "").length <= 4096, name);
    }
  });

  it("hold certificate and key of each authority in one parameter", async () => {
    const { inputs } = resource(await make("aws-dev"), "aws:ssm/parameter:Parameter", "s-kubernetes-ca");
    assert.match(
      textOf(inputs.value) ?? "",
      /^-----BEGIN CERTIFICATE-----\n[\s\S]*-----END CERTIFICATE-----\n-----BEGIN (EC )?PRIVATE KEY-----/,
    );
  });

  it("leave what the machines write with a value that says so", async () => {
    const recorded = await make("aws-dev");
    for (const name of ["s-join", "s-initialised"]) {
      const { inputs } = resource(recorded, "aws:ssm/parameter:Parameter", name);
      assert.equal(textOf(inputs.value), "unwritten");
    }
  });

  it("rotate their key, which can be brought back for 7 days, 30 in production", async () => {
    for (const [stack, days] of [
      ["aws-dev", 7],
      ["aws-prod", 30],
    ] as const) {
      const { inputs } = resource(await make(stack), "aws:kms/key:Key", "s-key");
      assert.deepEqual([inputs.enableKeyRotation, inputs.deletionWindowInDays], [true, days]);
    }
  });
});
