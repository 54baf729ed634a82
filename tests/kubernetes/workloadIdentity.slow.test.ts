import assert from "node:assert/strict";
import {
  environmentsExpression,
  workloadIdentityManifests,
} from "../../components/kubernetes/addOns/workloadIdentity.ts";
import { serviceAccount } from "../../components/kubernetes/manifest.ts";
import { azureEnvironment } from "../../components/model/cloudFacts/identities.ts";
import { type ApiServer, startApiServer, until } from "../support/apiServer.ts";
import { specOf } from "../support/mocks.ts";
import { applied, namespaceOf } from "./applied.ts";

const scope = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shop";
const roles = [{ role: "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1", scope }];
const access = {
  serviceAccountKeys: ["rsa-1"],
  workloadIdentity: { serviceAccounts: [{ namespace: "shop", name: "orders", roles }] },
};
const environment = azureEnvironment("tenant", "client");

interface Container {
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
}

interface Pod {
  readonly spec: {
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly volumes?: readonly { readonly name: string; readonly projected?: unknown }[];
  };
}

describe("a pod with rights in the cloud", function () {
  // The first run on a machine builds the programs.
  this.timeout(30 * 60_000);
  let api: ApiServer;

  before(async function () {
    api = await startApiServer(this);
    const spec = specOf("azure-dev", { access, addons: { samples: false } });
    const policy = workloadIdentityManifests(spec, environmentsExpression({ "shop/orders": environment }));
    await applied(api, [
      ...["shop", "other"].map((name) => namespaceOf(name)),
      serviceAccount({ namespace: "shop", name: "orders" }),
      serviceAccount({ namespace: "shop", name: "guest" }),
      serviceAccount({ namespace: "other", name: "orders" }),
      ...policy,
    ]);
    await until("the policy", async () => (await make({})).spec.volumes?.length === 1);
  });

  /** The pod as the API server would store it. */
  async function make(more: object, serviceAccountName = "orders", namespace = "shop"): Promise<Pod> {
    const spec = {
      serviceAccountName,
      automountServiceAccountToken: false,
      containers: [{ name: "a", image: "a" }],
      ...more,
    };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace }, spec };
    const { stdout, stderr } = await api.kubectl(
      ["create", "--dry-run=server", "-o", "json", "-f", "-"],
      JSON.stringify(pod),
    );
    assert.equal(stderr, "");
    return JSON.parse(stdout);
  }
  const env = (file: string) =>
    Object.entries({ ...environment, AZURE_FEDERATED_TOKEN_FILE: file }).map(([name, value]) => ({ name, value }));
  const linux = "/var/run/secrets/fenestra.dev/identity";
  const mounted = (mountPath: string) => [{ name: "fenestra-identity", mountPath, readOnly: true }];

  it("gets a token for the cloud, and in every container where to find it", async () => {
    const { spec } = await make({ initContainers: [{ name: "i", image: "a" }] });
    assert.deepEqual(spec.volumes, [
      {
        name: "fenestra-identity",
        projected: {
          defaultMode: 420,
          sources: [
            { serviceAccountToken: { audience: "api://AzureADTokenExchange", expirationSeconds: 3600, path: "token" } },
          ],
        },
      },
    ]);
    for (const [container] of [spec.containers, spec.initContainers ?? []]) {
      assert.deepEqual(container?.env, env(`${linux}/token`));
      assert.deepEqual(container?.volumeMounts, mounted(linux));
    }
  });

  it("keeps its own variables, mounts and volumes", async () => {
    const own = { name: "AZURE_CLIENT_ID", value: "mine" };
    const mount = { name: "v", mountPath: "/v" };
    const { spec } = await make({
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [{ name: "a", image: "a", env: [own], volumeMounts: [mount] }],
    });
    const [container] = spec.containers;
    const others = env(`${linux}/token`).filter(({ name }) => name !== own.name);
    assert.deepEqual(container?.env, [own, ...others]);
    assert.deepEqual(container?.volumeMounts, [mount, ...mounted(linux)]);
    const volumes = spec.volumes?.map(({ name }) => name);
    assert.deepEqual(volumes, ["v", "fenestra-identity"]);
  });

  it("gets it at a path of Windows on Windows", async () => {
    const { spec } = await make({ os: { name: "windows" } });
    const folder = "C:\\var\\run\\secrets\\fenestra.dev\\identity";
    assert.deepEqual(spec.containers[0]?.env, env(`${folder}\\token`));
    assert.deepEqual(spec.containers[0]?.volumeMounts, mounted(folder));
  });

  for (const [title, account, namespace] of [
    ["another service account", "guest", "shop"],
    ["one of this name in another namespace", "orders", "other"],
  ] as const)
    it(`gets nothing as ${title}`, async () => {
      const { spec } = await make({}, account, namespace);
      assert.deepEqual([spec.volumes, spec.containers[0]?.env], [undefined, undefined]);
    });
});
