import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { V1Node, V1ServiceSpec } from "@kubernetes/client-node";
import { minorOf, namedVersions } from "../../components/model/releases.ts";
import { balancerRefusal, goneNodes } from "../../rehearsal/clouds/cloudController.ts";
import { answerReview, type GmsaQuestions, podReview } from "../../rehearsal/clouds/gmsaWebhook.ts";
import { withoutProxy } from "../../rehearsal/run/mirrorSettings.ts";

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
    assert.deepEqual(
      [refused("aws", sticky), refused("aws", fixed), refused("aws", {}, "external")],
      [true, true, true],
    );
    assert.equal(refused("azure", { loadBalancerClass: "example.com/other" }), true);
  });
});

const asked = { securityContext: { windowsOptions: { gmsaCredentialSpecName: "web" } } };
const refusal = 'service account "web-user" is not authorized to `use` GMSA cred spec "web"';

describe("the simulated gMSA webhook", () => {
  const answer = async (path: string, pod: object, container: object, ask: Partial<GmsaQuestions> = {}) => {
    const object = { spec: { serviceAccountName: "web-user", containers: [container], ...pod } };
    const review = podReview.parse({ request: { uid: "1", operation: "CREATE", namespace: "default", object } });
    const mayUse: GmsaQuestions["mayUse"] = async (...who) => who.join("/") === "web-user/default/web";
    const given = await answerReview(path, review, { mayUse, contents: async (name) => ({ of: name }), ...ask });
    const { status } = Object(given);
    return status === undefined ? given : [status.code, status.message];
  };
  const forbidden = () => Promise.reject(new Error("forbidden"));

  it("lets a pod in whose service account may use the account, and no other", async () => {
    for (const [pod, container] of [
      [asked, {}],
      [{}, asked],
    ] as const) {
      const [own, other] = [
        await answer("/validate", pod, container),
        await answer("/validate", { ...pod, serviceAccountName: "x" }, container),
      ];
      assert.deepEqual([own, other], [{ uid: "1", allowed: true }, [403, refusal.replace("web-user", "x")]]);
    }
  });

  it("refuses where it may not ask for rights, and where it cannot read the specification", async () => {
    assert.deepEqual(await answer("/validate", asked, {}, { mayUse: forbidden }), [403, `${refusal} forbidden`]);
    const [code] = Object(await answer("/mutate", asked, {}, { contents: forbidden }));
    assert.equal(code, 500);
  });

  it("writes the specification into pod and containers", async () => {
    const { patch } = Object(await answer("/mutate", asked, asked));
    const path = (at: string) => `${at}/securityContext/windowsOptions/gmsaCredentialSpec`;
    const wanted = ["/spec", "/spec/containers/0"].map((at) => ({ op: "add", path: path(at), value: '{"of":"web"}' }));
    assert.deepEqual(JSON.parse(Buffer.from(patch, "base64").toString()), wanted);
    assert.deepEqual(await answer("/mutate", {}, {}), { uid: "1", allowed: true });
  });
});

/** Releases that the fakes of a folder say they follow, as `cloud-provider-aws v1.35.2`. */
function followed(folder: string): readonly (readonly [repository: string, release: string])[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(path.join(folder, name), "utf8"))
    .flatMap((text) => [...text.matchAll(/\b[\w-]+\/([\w-]+) (v\d+\.\d+\.\d+)[:,)]/g)])
    .map(([, repository = "", release = ""]) => [repository, release]);
}

/** Image of a repository's program. */
const images: Readonly<Record<string, string>> = {
  "cloud-provider-aws": "registry.k8s.io/provider-aws/cloud-controller-manager",
  "cloud-provider-azure": "mcr.microsoft.com/oss/v2/kubernetes/azure-cloud-controller-manager",
  "windows-gmsa": "registry.k8s.io/gmsa-webhook/k8s-gmsa-webhook",
};

describe("a mirror beside a proxy", () => {
  it("is asked without it where an exception covers its host", () => {
    const covered = (host: string, ...exceptions: readonly string[]) => withoutProxy(host, exceptions);
    assert.deepEqual(
      [
        covered("mirror.corp.test", ".corp.test"),
        covered("mirror.corp.test", "corp.test"),
        covered("mirror.corp.test", "mirror.corp.test"),
        covered("10.99.0.9", "10.99.0.0/16"),
        covered("mirror.corp.test", ".other.test", "10.0.0.0/8", "orp.test"),
        covered("10.98.0.9", "10.99.0.0/16"),
      ],
      [true, true, true, true, false, false],
    );
  });
});

describe("fakes of the simulated clouds", () => {
  it("follow a minor of an add-on that an image of ours has", () => {
    const folder = path.join(import.meta.dirname, "../../rehearsal/clouds");
    const found = followed(folder).flatMap(([repository, release]) => {
      const minorsOf = namedVersions().flatMap(({ name, version }) =>
        name === images[repository] ? [minorOf(version)] : [],
      );
      if (minorsOf.length === 0) return [];
      return [minorsOf.includes(minorOf(release.slice(1))) ? repository : `${repository} ${release}`];
    });
    assert.deepEqual([...new Set(found)].sort(), Object.keys(images));
  });
});
