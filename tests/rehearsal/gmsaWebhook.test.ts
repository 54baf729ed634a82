import assert from "node:assert/strict";
import { answerReview, type GmsaQuestions, podReview } from "../../rehearsal/clouds/gmsaWebhook.ts";

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
