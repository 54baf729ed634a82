import assert from "node:assert/strict";
import * as aws from "../../../check/account/aws/account.ts";
import * as azure from "../../../check/account/azure/account.ts";
import { awsNeeds } from "../../../components/gates/account/aws/needs.ts";
import { azureNeeds } from "../../../components/gates/account/azure/needs.ts";
import { CallError, type Objection, type Send } from "../../../components/gates/account/question.ts";
import { eachFault } from "../../gates/serving.ts";
import { memo } from "../../support/mocks.ts";
import { askIn, cloudOf, differing, type Scene, sendTo } from "./world.ts";

const clouds = {
  aws: {
    ids: aws.questions.map(({ id }) => id),
    ask: (scene: Scene, send: Send) => askIn(aws.questions, awsNeeds, "aws-dev", scene, send),
  },
  azure: {
    ids: azure.questions.map(({ id }) => id),
    ask: (scene: Scene, send: Send) => askIn(azure.questions, azureNeeds, "azure-dev", scene, send),
  },
};

it("the questions to azure: role-quota counts what a subscription's 4,000 role assignments leave", async () => {
  const { roomy } = cloudOf("azure");
  const given = (scope: string, count: number) => Array(count).fill({ properties: { scope } });
  const group = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups";
  const right = "Microsoft.Authorization/roleAssignments/read";
  const asked = async (others: number) => {
    const value = [
      ...given(`${group}/theirs`, others),
      ...given(`${group}/fenestra-azure-dev/x`, 500),
      ...given("/", 500),
    ];
    return (await clouds.azure.ask({}, sendTo({ ...roomy, [right]: { value } })))["role-quota"];
  };
  assert.equal((await asked(3900))?.outcome, "fine");
  const full = await asked(3995);
  assert.equal(full?.outcome, "refused");
  assert.match(
    full?.objections[0]?.text ?? "",
    /role assignments are needed; the quota of a subscription is 4000, others use 3995/,
  );
});

for (const [cloud, { ids, ask }] of Object.entries(clouds))
  describe(`the questions to ${cloud}`, function () {
    this.timeout(300_000);
    const { roomy, examples, scenes, cases } = cloudOf(cloud);

    for (const stack of examples)
      it(`have nothing against an account with room: ${stack}`, async () => {
        assert.deepEqual(
          Object.values(await ask({ stack }, sendTo(roomy)))
            .flatMap(({ objections }) => objections)
            .filter(({ outcome }) => outcome !== "doubtful"),
          [],
        );
      });

    for (const { id, outcome, says, differences, scene } of cases)
      it(`${id}: ${outcome}, ${says}`, async () => {
        const { [id]: answer } = await ask(scene, sendTo(differing(roomy, Object.fromEntries(differences))));
        assert.equal(answer?.outcome, outcome, JSON.stringify(answer));
        assert.match(answer?.objections.map(({ text, mend }) => `${text} ${mend}`).join(" ") ?? "", new RegExp(says));
      });

    it("have a case for each of them", () => {
      const seen = new Set(cases.map(({ id }) => id));
      assert.deepEqual(
        ids.filter((id) => !seen.has(id)),
        [],
      );
    });

    /** The scenes by the calls that are made in them. */
    const callers = memo(async (): Promise<Readonly<Record<string, readonly Scene[]>>> => {
      const found: Record<string, Scene[]> = {};
      for (const scene of [...scenes, ...examples.map((stack) => ({ stack }))]) {
        const rights = new Set<string>();
        await ask(scene, (call, signal) => {
          rights.add(call.right);
          return whole(call, signal);
        });
        for (const right of rights) found[right] = [...(found[right] ?? []), scene];
      }
      return found;
    });
    /** Whether a scene in which a call is made says it with another answer. */
    const says = async (right: string, send: Send, wanted: RegExp, name = right) => {
      for (const scene of (await callers())[right] ?? []) {
        const found = Object.values(await ask(scene, send)).flatMap(({ objections }) => objections);
        const isSaid = ({ outcome, text, mend = "" }: Objection) =>
          outcome === "not asked" && wanted.test(`${text} ${mend}`) && text.includes(name);
        if (found.some(isSaid)) return true;
      }
      return false;
    };
    // A forbidden dry run is an answer; objects are asked for before one machine goes.
    const rights = Object.keys(roomy).filter((right) => !/RunInstances|AllocateAddress|s3:/.test(right));
    const whole = sendTo(roomy);

    it("ask for all that the fake answers", async () => {
      const asked = await callers();
      assert.deepEqual(
        rights.filter((right) => asked[right] === undefined),
        [],
      );
    });

    const login = cloud === "aws" ? "aws sso login" : "az login";
    type Way = readonly [wanted: RegExp, send: (right: string) => Send];
    /** Asserts that a call's fault is told; by its right, unless it concerns all calls. */
    const judged =
      (named: boolean) =>
      async (right: string, [wanted, send]: Way): Promise<void> =>
        assert.ok(await says(right, send(right), wanted, named ? right : ""), `${right}: ${wanted}`);

    it("name the right of any forbidden call, and take half an answer for none", () =>
      eachFault<string, Way>(
        rights,
        [
          [/^needs /, (right) => sendTo({ ...roomy, [right]: { $denied: "AccessDenied" } })],
          [
            /is not understood/,
            (right) => async (call, signal) => (call.right === right ? 7 : await whole(call, signal)),
          ],
        ],
        judged(true),
      ));

    it("never pass by silence", async () => {
      const codes = {
        ...{ ThrottlingException: "in a minute", SELF_SIGNED_CERT_IN_CHAIN: "NODE_EXTRA_CA_CERTS", ENOTFOUND: "DNS" },
        ...{ ExpiredToken: login, CredentialUnavailableError: login, 407: "HTTPS_PROXY" },
      };
      await eachFault<string, Way>(
        rights.filter((right) => !/sts|subscriptions\/read|token/.test(right)),
        Object.entries(codes).map(([code, mend]) => [
          new RegExp(`\\(${code}\\).*${mend}`),
          (right) => sendTo({ ...roomy, [right]: { $fails: code } }),
        ]),
        judged(false),
        "sample",
      );
      const unsaid =
        (code: string, words: string): Send =>
        (call) =>
          Promise.reject(new CallError(call, "none", code, words));
      for (const [send, mend] of [
        [() => new Promise(() => {}), ""],
        [unsaid("CredentialsProviderError", "none"), login],
        [unsaid("AuthenticationRequiredError", "network_error: getaddrinfo ENOTFOUND"), "DNS"],
      ] as const) {
        const silent = await ask({ limitMs: 300 }, send);
        // Said once, and no other question is asked.
        assert.deepEqual(Object.keys(silent), ["account"]);
        assert.equal(silent.account?.outcome, "refused");
        assert.match(silent.account?.objections[0]?.mend ?? "", new RegExp(mend));
      }
    });
  });
