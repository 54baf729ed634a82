import assert from "node:assert/strict";
import { createHash, createPrivateKey, createPublicKey } from "node:crypto";
import { SignJWT } from "jose";
import type { Cloud } from "../../components/config/schema.ts";
import { mapOf, resourcesOfType, textOf } from "../../components/gates/resources.ts";
import { tokenFacts } from "../../components/model/cloudFacts/identities.ts";
import { rolesFor } from "../../plan/fakes/awsAccess.ts";
import { identitiesFor } from "../../plan/fakes/azureAccess.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { runSpec, specOf } from "../support/mocks.ts";

const rights = {
  aws: { statements: [{ actions: ["s3:GetObject"], resources: ["arn:aws:s3:::shop/*"] }] },
  azure: {
    roles: [
      {
        role: "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
        scope: "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shop",
      },
    ],
  },
};
const judge = { aws: rolesFor, azure: identitiesFor };

async function run(cloud: Cloud): Promise<RecordedProgram> {
  const serviceAccounts = ["orders", "reports"].map((name) => ({ namespace: "shop", name, ...rights[cloud] }));
  const access = { serviceAccountKeys: ["rsa-1"], workloadIdentity: { serviceAccounts } };
  const spec = specOf(`${cloud}-dev`, { access });
  return (await runSpec(spec, "known-outputs", "real")).program;
}

for (const cloud of ["aws", "azure"] as const) {
  const program = await run(cloud);
  describe(`a token of a service account on ${cloud}`, () => {
    const own = (): string =>
      textOf(
        resourcesOfType(program, "tls:index/privateKey:PrivateKey").find(({ name }) => name.endsWith("-rsa-1"))?.outputs
          .privateKeyPem,
      ) ?? "";
    const issuer = (): string => textOf(mapOf(program.outputs.workloadIdentity).issuer) ?? "";
    const token = (claims: object = {}): Promise<string> => {
      const key = createPrivateKey(own());
      const der = createPublicKey(key).export({ type: "spki", format: "der" });
      const { audience } = tokenFacts[cloud];
      return new SignJWT({ iss: issuer(), aud: audience, sub: "system:serviceaccount:shop:orders", ...claims })
        .setProtectedHeader({ alg: "RS256", kid: createHash("sha256").update(der).digest("base64url") })
        .setIssuedAt()
        .setExpirationTime("1h")
        .sign(key);
    };
    const judged = async (given: string): Promise<readonly string[]> => judge[cloud](program, given);

    it("is exchanged for its service account's identity and no other", async () => {
      const [only, ...others] = await judged(await token());
      assert.match(only ?? "", /-dev-shop_orders$/);
      assert.deepEqual(others, []);
    });

    for (const [title, sub] of [
      ["of another namespace", "system:serviceaccount:shop2:orders"],
      ["whose name begins the same", "system:serviceaccount:shop:orders2"],
      ["with a pattern for a name", "system:serviceaccount:shop:*"],
      ["of the system", "system:serviceaccount:kube-system:orders"],
    ] as const)
      it(`of one ${title} is exchanged for nothing`, async () =>
        assert.deepEqual(await judged(await token({ sub })), []));
  });
}
