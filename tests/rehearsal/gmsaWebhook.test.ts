import assert from "node:assert/strict";
import { answerReview, type GmsaQuestions, podReview } from "../../rehearsal/clouds/gmsaWebhook.ts";

const contents = { CmsPlugins: ["ActiveDirectory"] };
const inside = JSON.stringify(contents);

/** A cluster in which the service account `web-user` may use the one specification that there is. */
const cluster: GmsaQuestions = {
  mayUse: (account, namespace, name) => Promise.resolve({ allowed: `${namespace}/${account}/${name}` === "default/web-user/web" }),
  contents: (name) => (name === "web" ? Promise.resolve(contents) : Promise.reject(Object.assign(new Error("none"), { code: 404 }))),
};

interface Options {
  readonly gmsaCredentialSpecName?: string;
  readonly gmsaCredentialSpec?: string;
}

const pod = (options: Options, ofContainer?: Options, serviceAccountName = "web-user") => ({
  metadata: { name: "web" },
  spec: {
    serviceAccountName,
    securityContext: { windowsOptions: options },
    containers: [{ name: "app", ...(ofContainer === undefined ? {} : { securityContext: { windowsOptions: ofContainer } }) }],
  },
});

async function answer(path: string, object: object, ask = cluster, oldObject?: object) {
  const operation = oldObject === undefined ? "CREATE" : "UPDATE";
  const { request } = podReview.parse({ request: { uid: "1", operation, namespace: "default", object, oldObject } });
  const given = await answerReview(path, request, ask);
  return given?.allowed === false ? [given.status?.code, given.status?.message] : given;
}

const allowed = { uid: "1", allowed: true };

describe("the simulated gMSA webhook", () => {
  it("lets a pod in whose service account may use the account, and no other", async () => {
    const asked = { gmsaCredentialSpecName: "web" };
    assert.deepEqual(await answer("/validate", pod(asked)), allowed);
    assert.deepEqual(await answer("/validate", pod(asked, undefined, "default")), [
      403,
      'service account "default" is not authorized to `use` GMSA cred spec "web"',
    ]);
    assert.deepEqual(await answer("/validate", pod({}, asked, "default")), [
      403,
      'service account "default" is not authorized to `use` GMSA cred spec "web"',
    ]);
  });

  it("refuses where it may not ask for rights, and where it cannot read the specification", async () => {
    const forbidden = () => Promise.reject(new Error("forbidden"));
    const blind = { mayUse: forbidden, contents: forbidden };
    const asked = pod({ gmsaCredentialSpecName: "web" });
    assert.deepEqual(await answer("/validate", asked, blind), [
      403,
      'service account "web-user" is not authorized to `use` GMSA cred spec "web", reason: "error when checking authz access: forbidden"',
    ]);
    assert.deepEqual(await answer("/mutate", asked, blind), [500, "unable to retrieve the contents of cred spec web: forbidden"]);
    assert.deepEqual(await answer("/mutate", pod({ gmsaCredentialSpecName: "other" })), [404, "cred spec other does not exist"]);
  });

  it("writes the specification into pod and containers that lack it", async () => {
    const given = await answer("/mutate", pod({}, { gmsaCredentialSpecName: "web" }));
    assert.ok(given !== undefined && "patch" in given && given.patch !== undefined);
    assert.deepEqual(JSON.parse(Buffer.from(given.patch, "base64").toString()), [
      { op: "add", path: "/spec/containers/0/securityContext/windowsOptions/gmsaCredentialSpec", value: inside },
    ]);
    const whole = { gmsaCredentialSpecName: "web", gmsaCredentialSpec: inside };
    assert.deepEqual(await answer("/mutate", pod(whole)), allowed);
  });

  it("refuses contents that are not those of the specification, and those without its name", async () => {
    const spaced = { gmsaCredentialSpecName: "web", gmsaCredentialSpec: JSON.stringify(contents, undefined, 2) };
    assert.deepEqual(await answer("/validate", pod(spaced)), allowed);
    const other = await answer("/validate", pod({ gmsaCredentialSpecName: "web", gmsaCredentialSpec: "{}" }));
    const unnamed = await answer("/validate", pod({ gmsaCredentialSpec: inside }));
    assert.deepEqual(
      [other, unnamed].map((given) => Array.isArray(given) && given[0]),
      [422, 422],
    );
  });

  it("refuses to change the account of a pod that runs", async () => {
    const now = pod({ gmsaCredentialSpecName: "web" });
    assert.deepEqual(await answer("/validate", now, cluster, now), allowed);
    assert.deepEqual(await answer("/validate", now, cluster, pod({})), [
      403,
      'cannot update an existing pod\'s GMSA settings (GMSA name modified on pod "web")',
    ]);
  });
});
