import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createHttpHeaders, type HttpClient } from "@azure/core-rest-pipeline";
import { awsSender } from "../../../components/gates/account/aws/client.ts";
import { azureSender } from "../../../components/gates/account/azure/client.ts";
import { CallError, type Send } from "../../../components/gates/account/question.ts";
import { signatureProblem } from "../../../rehearsal/clouds/aws/sigv4.ts";
import { behindProxy, serving } from "../../gates/serving.ts";
import { listening } from "../../support/suite.ts";

/** What a call ends with: its answer, or why there is none. */
async function outcome(send: Send, right: string, input: object | string = {}) {
  return await send({ right, input }, AbortSignal.timeout(20_000)).catch((error: unknown) =>
    error instanceof CallError ? `${error.kind}: ${error.code}: ${error.message}` : assert.fail(String(error)),
  );
}

describe("calls of preflight, by the clouds' own clients", () => {
  const date = "Mon, 30 Nov 2026 01:00:00 GMT";

  it("read every page of AWS, and tell who is at fault by its errors", async () => {
    const earlier = { ...process.env };
    const reply = { status: 200, body: "" };
    const xml = (inner: string) => `<R><ListRolesResult>${inner}</ListRolesResult></R>`;
    const role = (name: string) => `<Roles><member><RoleName>${name}</RoleName></member></Roles>`;
    const more = "<IsTruncated>true</IsTruncated><Marker>m</Marker>";
    const seen: number[] = [];
    const server = createServer(async (request, response) => {
      const second = (await text(request)).includes("Marker=m");
      const pages = xml(second ? `${role("b")}<IsTruncated>false</IsTruncated>` : `${role("a")}${more}`);
      response.writeHead(reply.status, { date }).end(reply.body || pages);
    });
    const AWS_ENDPOINT_URL = `http://127.0.0.1:${await listening(server, "127.0.0.1")}`;
    const login = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b", AWS_MAX_ATTEMPTS: "1" };
    Object.assign(process.env, { ...login, AWS_ENDPOINT_URL });
    try {
      const send = awsSender((time) => seen.push(time.getTime()), "eu-central-1");
      assert.partialDeepStrictEqual(await outcome(send, "iam:ListRoles"), {
        Roles: [{ RoleName: "a" }, { RoleName: "b" }],
      });
      assert.deepEqual(seen, Array(2).fill(Date.parse(date)));
      const refusal = (code: string) =>
        `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>no</Message></Error></ErrorResponse>`;
      for (const [status, body, wanted] of [
        [403, refusal("AccessDenied"), /^denied: AccessDenied: no$/],
        [404, refusal("NoSuchEntity"), /^refused: NoSuchEntity/],
        [400, refusal("Throttling"), /^none: Throttling/],
        [500, refusal("ServiceFailure"), /^none: ServiceFailure/],
        [200, "<html>please log in", /^none: .*the answer to iam:ListRoles is not understood/],
      ] as const) {
        Object.assign(reply, { status, body });
        assert.match(String(await outcome(send, "iam:ListRoles")), wanted);
      }
    } finally {
      process.env = earlier;
      server.closeAllConnections();
      server.close();
    }
  });

  it("ask S3 for an object's size alone, signed, and tell who is at fault by its status", async () => {
    const earlier = { ...process.env };
    const login = { accessKeyId: "a", secretAccessKey: "b", sessionToken: "c" };
    let status = 200;
    const problems: unknown[] = [];
    const say = (response: ServerResponse) => {
      const { method = "", url = "", headers } = response.req;
      const sent = {
        method,
        url,
        headers: Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, String(value)])),
        body: Buffer.alloc(0),
      };
      signatureProblem(sent, login, "s3", "eu-central-1", Date.now()).then((problem) => {
        problems.push(`${method} ${url} ${problem}`);
        response.writeHead(status, { "content-length": 7 }).end();
      });
    };
    const trusted = getCACertificates();
    await serving(
      () => ({ status, body: "", say }),
      ({ server, caCertificate }) =>
        behindProxy("", async (seen, lead) => {
          lead(Number(new URL(server).port));
          setDefaultCACertificates([caCertificate]);
          const { accessKeyId, secretAccessKey, sessionToken } = login;
          Object.assign(process.env, {
            AWS_ACCESS_KEY_ID: accessKeyId,
            AWS_SECRET_ACCESS_KEY: secretAccessKey,
            AWS_SESSION_TOKEN: sessionToken,
          });
          const send = awsSender(() => undefined, "eu-central-1");
          for (const [answered, wanted] of [
            [200, { ContentLength: 7 }],
            [403, "denied: 403: S3 answers 403"],
            [404, "refused: NotFound: S3 answers 404"],
            [503, "none: 503: S3 answers 503"],
          ] as const) {
            status = answered;
            assert.deepEqual(await outcome(send, "s3:GetObject", { Bucket: "bucket", Key: "machines/a-1.sh" }), wanted);
          }
          assert.deepEqual([...new Set(seen)], ["bucket.s3.eu-central-1.amazonaws.com:443"]);
        }),
    ).finally(() => {
      process.env = earlier;
      setDefaultCACertificates(trusted);
    });
    assert.deepEqual([...new Set(problems)], ["HEAD /machines/a-1.sh undefined"]);
  });

  it("read every page of Azure, from its own address alone, and tell who is at fault by its errors", async () => {
    const asked: string[] = [];
    const answers: (readonly [status: number, body: string])[] = [];
    const client: HttpClient = {
      sendRequest: async (request) => {
        asked.push(`${request.method} ${request.url} ${request.headers.get("authorization")}`);
        const [status, bodyAsText] = answers.shift() ?? assert.fail(request.url);
        return { request, status, bodyAsText, headers: createHttpHeaders({ date }) };
      },
    };
    const seen: number[] = [];
    const credential = { getToken: async () => ({ token: "a.b.c", expiresOnTimestamp: Number.POSITIVE_INFINITY }) };
    const send = azureSender((server) => seen.push(server.getTime()), client, credential);
    const call = async (...given: typeof answers) => {
      answers.push(...given);
      return await outcome(send, "read", "/x?api-version=1");
    };
    const manager = "https://management.azure.com";
    const page = (name: string, nextLink?: string): readonly [number, string] => [
      200,
      JSON.stringify({ value: [{ name }], nextLink }),
    ];
    assert.partialDeepStrictEqual(await call(page("a", `${manager}:443/x?page=2`), page("b")), {
      value: [{ name: "a" }, { name: "b" }],
    });
    assert.deepEqual(asked, [
      `GET ${manager}/x?api-version=1 Bearer a.b.c`,
      `GET ${manager}:443/x?page=2 Bearer a.b.c`,
    ]);
    assert.deepEqual(seen, Array(2).fill(Date.parse(date)));
    // A token goes nowhere else.
    assert.match(String(await call(page("a", "https://example.com/x"))), /^none: .*the next page is elsewhere/);
    const refusal = (code: string) => JSON.stringify({ error: { code, message: "no" } });
    for (const [status, body, wanted] of [
      [403, refusal("AuthorizationFailed"), "denied: AuthorizationFailed: no"],
      [404, refusal("ResourceNotFound"), "refused: ResourceNotFound: no"],
      [401, refusal("ExpiredAuthenticationToken"), "none: ExpiredAuthenticationToken: no"],
      [429, refusal("TooManyRequests"), "none: TooManyRequests: no"],
      [501, refusal("NotImplemented"), "none: NotImplemented: no"],
      [403, "<html>proxy", "none: 403: "],
    ] as const)
      assert.equal(await call([status, body]), wanted);
  });
});
