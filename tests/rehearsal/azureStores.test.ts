import assert from "node:assert/strict";
import type { PropertyMap } from "../../plan/program/values.ts";
import { blobHost, caUrl, codeOf, documentOf, joinUrl, start, vaultAudience } from "./azureCaller.ts";
import { type Changes, group, inside } from "./azureCluster.ts";

describe("Azure's Key Vault", () => {
  const at = (url: string) => `${url}?api-version=7.4`;
  const put = (value: string) => ({ body: JSON.stringify({ value }) });

  it("gives a secret to the identity that has the role", async () => {
    const { controlPlane, cloud } = start();
    const answer = await controlPlane.call("GET", at(caUrl), await controlPlane.token(vaultAudience));
    assert.deepEqual([answer.status, documentOf(answer).value], [200, "not a key"]);
    assert.deepEqual(cloud.calls, [
      {
        machine: "dev-cp-0",
        action: "Microsoft.KeyVault/vaults/secrets/getSecret/action",
        resource: `${group}/providers/Microsoft.KeyVault/vaults/azure-dev-ca-ab12cd/secrets/kubernetes-ca`,
        allowed: true,
        status: 200,
      },
    ]);
  });

  it("gives a worker what the control plane published, each time the newest", async () => {
    const { controlPlane, worker } = start();
    const [own, theirs] = [await controlPlane.token(vaultAudience), await worker.token(vaultAudience)];
    assert.deepEqual(codeOf(await worker.call("GET", at(joinUrl), theirs)), [404, "SecretNotFound"]);
    for (const value of ["first", "second"]) {
      assert.equal((await controlPlane.call("PUT", at(joinUrl), own, put(value))).status, 200);
      assert.equal(documentOf(await worker.call("GET", at(joinUrl), theirs)).value, value);
    }
  });

  it("refuses a worker the CA, by its firewall and without that by its roles", async () => {
    const closed = start();
    const first = await closed.worker.call("GET", at(caUrl), await closed.worker.token(vaultAudience));
    assert.equal(Object(documentOf(first).error).innererror.code, "ForbiddenByFirewall");
    const open = start({ ca: (inputs) => inside(inputs, ["properties", "networkAcls"], {}) });
    const second = await open.worker.call("GET", at(caUrl), await open.worker.token(vaultAudience));
    assert.equal(second.status, 403);
    assert.equal(Object(documentOf(second).error).innererror.code, "ForbiddenByRbac");
    assert.deepEqual(
      open.cloud.calls.map(({ machine, allowed, status }) => [machine, allowed, status]),
      [["linux000000", false, 403]],
    );
  });

  it("gives a worker the CA once its role reaches that far: the check before can fail", async () => {
    const { worker } = start({
      ca: (inputs) => inside(inputs, ["properties", "networkAcls"], {}),
      "worker-join": (inputs) => ({ ...inputs, scope: group }),
    });
    const answer = await worker.call("GET", at(caUrl), await worker.token(vaultAudience));
    assert.deepEqual([answer.status, documentOf(answer).value], [200, "not a key"]);
  });

  it("lets a worker write nothing", async () => {
    const { worker } = start();
    const answer = await worker.call("PUT", at(joinUrl), await worker.token(vaultAudience), put("mine"));
    assert.deepEqual(codeOf(answer), [403, "Forbidden"]);
  });

  it("refuses a token for something else, a made-up one and none", async () => {
    const { controlPlane } = start();
    const other = await controlPlane.call("GET", at(caUrl), await controlPlane.token("https://management.azure.com"));
    assert.equal(other.status, 401);
    assert.match(String(other.body), /Invalid audience. Expected https:\/\/vault.azure.net, found: https:\/\/management/);
    assert.equal((await controlPlane.call("GET", at(caUrl), "eyJ.made.up")).status, 401);
    assert.equal((await controlPlane.call("GET", at(caUrl), undefined)).status, 401);
  });

  it("refuses a call without a version, a value of more than 25 kB and a body that is no secret", async () => {
    const { controlPlane } = start();
    const token = await controlPlane.token(vaultAudience);
    const calls = [
      controlPlane.call("GET", caUrl, token),
      controlPlane.call("PUT", at(joinUrl), token, put("x".repeat(25_601))),
      controlPlane.call("PUT", at(joinUrl), token, { body: "plain" }),
    ];
    for (const answer of await Promise.all(calls)) assert.deepEqual(codeOf(answer), [400, "BadParameter"]);
    assert.equal((await controlPlane.call("PUT", at(joinUrl), token, put("x".repeat(25_600)))).status, 200);
  });

  it("is refused to a program whose vault decides by access policies", () => {
    const policies = (inputs: PropertyMap) => inside(inputs, ["properties", "enableRbacAuthorization"], false);
    assert.throws(() => start({ ca: policies }), /the vault ca does not decide by roles/);
  });

  it("does not guess at roles and conditions that it does not know", async () => {
    const readAs = async (change: PropertyMap) => {
      const { cloud, worker } = start({ "worker-join": (inputs) => ({ ...inputs, ...change }) });
      return await cloud.readSecret(worker.machine, joinUrl);
    };
    await assert.rejects(readAs({ roleDefinitionId: "/x/ffffffff" }), /is not known to the rehearsal/);
    await assert.rejects(readAs({ condition: "@Resource" }), /has a condition, of which there is no simulation/);
  });
});

describe("Azure's blobs", () => {
  const blob = (name: string) => `https://${blobHost}/snapshots${name}`;
  const version = { "x-ms-version": "2023-11-03" };
  const write = { headers: { ...version, "x-ms-blob-type": "BlockBlob" }, body: "data" };

  it("are written, listed, read and deleted by the control plane", async () => {
    const { controlPlane } = start();
    const token = await controlPlane.token("https://storage.azure.com");
    const call = (method: string, name: string, more = {}) => controlPlane.call(method, blob(name), token, { headers: version, ...more });
    const statuses = [
      (await call("PUT", "/dev/b.gz", write)).status,
      (await call("PUT", "/dev/a.gz", write)).status,
      (await call("PUT", "/other/c.gz", write)).status,
    ];
    assert.deepEqual(statuses, [201, 201, 201]);
    assert.equal((await call("PUT", "/dev/c.gz", write)).status, 201);
    const page = async (marker: string) => {
      const { status, body } = await call("GET", `?restype=container&comp=list&prefix=dev%2F${marker}`);
      return [status, String(body).match(/(?<=<(Name|NextMarker)>)[^<]+/g)];
    };
    const next = "1+/ZGV2L2IuZ3o==";
    assert.deepEqual(await page(""), [200, ["dev/a.gz", "dev/b.gz", next]]);
    assert.deepEqual(await page(`&marker=${encodeURIComponent(next)}`), [200, ["dev/c.gz"]]);
    assert.deepEqual(await page(`&marker=${next}`), [400, null]);
    assert.equal(String((await call("GET", "/dev/a.gz")).body), "data");
    assert.equal((await call("DELETE", "/dev/a.gz")).status, 202);
    assert.equal((await call("GET", "/dev/a.gz")).status, 404);
    assert.equal((await call("DELETE", "/dev/a.gz")).status, 404);
  });

  it("are refused to a worker, to a Key Vault's token, and to a call without version or type", async () => {
    const { controlPlane, worker } = start();
    const token = await controlPlane.token("https://storage.azure.com");
    const theirs = await worker.token("https://storage.azure.com");
    const wrong = await controlPlane.token(vaultAudience);
    const codes = await Promise.all(
      [
        worker.call("GET", blob("/a"), theirs, { headers: version }),
        controlPlane.call("GET", blob("/a"), wrong, { headers: version }),
        controlPlane.call("GET", blob("/a"), token),
        controlPlane.call("PUT", blob("/a"), token, { headers: version, body: "data" }),
        controlPlane.call("PUT", `https://${blobHost}/other/a`, token, write),
      ].map(async (answer) => [(await answer).status, (await answer).headers?.["x-ms-error-code"]]),
    );
    assert.deepEqual(codes, [
      [403, "AuthorizationPermissionMismatch"],
      [401, "InvalidAuthenticationInfo"],
      [400, "MissingRequiredHeader"],
      [400, "MissingRequiredHeader"],
      [403, "AuthorizationPermissionMismatch"],
    ]);
  });
});

describe("a storage account's firewall", () => {
  const rules = (inputs: PropertyMap, subnets: readonly string[]) => ({
    ...inputs,
    networkRuleSet: {
      defaultAction: "Deny",
      virtualNetworkRules: subnets.map((subnet) => ({
        virtualNetworkResourceId: `${group}/providers/Microsoft.Network/virtualNetworks/dev-net/subnets/${subnet}`,
      })),
    },
  });
  const endpoint = (inputs: PropertyMap) => ({ ...inputs, serviceEndpoints: [{ service: "Microsoft.Storage" }] });
  const list = async (changes: Changes) => {
    const { controlPlane } = start(changes);
    const token = await controlPlane.token("https://storage.azure.com");
    const headers = { "x-ms-version": "2023-11-03" };
    return (await controlPlane.call("GET", `https://${blobHost}/snapshots?restype=container&comp=list`, token, { headers })).status;
  };

  it("admits a subnet that it names and that has the service endpoint", async () => {
    const named = (subnet: string): Changes => ({ snapshots: (inputs) => rules(inputs, [subnet]) });
    assert.equal(await list({ ...named("control-plane"), "control-plane": endpoint }), 200);
    assert.equal(await list(named("control-plane")), 403);
    assert.equal(await list({ ...named("workers"), "control-plane": endpoint }), 403);
    assert.equal(await list({ snapshots: (inputs) => ({ ...inputs, publicNetworkAccess: "Disabled" }) }), 403);
  });
});
