import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import path from "node:path";
import { until } from "../support/apiServer.ts";
import { listening, suiteFolder } from "../support/temporary.ts";
import { needJq, scriptOf } from "./read.ts";

/** In place of the pause between two tokens: as long as the test wants. */
const pause = '#!/bin/bash\nuntil [ -e "$RUNNER_TEMP/go-on" ]; do /bin/sleep 0.05; done\nexec /bin/sleep 0.05\n';

describe("the token for the state on Azure", function () {
  this.timeout(150_000);
  const script = scriptOf("deploy.yml up", "Keep a token for the state");
  const folder = suiteFolder();
  const file = path.join(folder, "azure-token");
  const asked: IncomingMessage[] = [];
  /** What GitHub answers to each request; the last one is repeated. */
  let answers: readonly { readonly status: number; readonly value: string }[] = [];
  const github = createServer((request, response) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(request);
    response.writeHead(answer?.status ?? 404).end(JSON.stringify({ value: answer?.value, count: 1 }));
  });
  let group: ChildProcess | undefined;
  let port = 0;

  /** Runs the step as a runner of GitHub does. Returns its exit code; what it left in the background runs on. */
  async function step(): Promise<unknown> {
    group = spawn("bash", ["-e", "-c", script], {
      detached: true,
      stdio: "ignore",
      env: {
        PATH: `${folder}:${process.env.PATH ?? ""}`,
        RUNNER_TEMP: folder,
        GITHUB_ENV: path.join(folder, "env"),
        AZURE_CLIENT_ID: "client",
        AZURE_TENANT_ID: "tenant",
        ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?api-version=2.0`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: "the job's",
      },
    });
    return (await once(group, "exit"))[0];
  }

  /** Ends what a step left in the background. Returns whether there was anything. */
  function endGroup(pid: number): boolean {
    try {
      return process.kill(-pid);
    } catch {
      return false;
    }
  }

  before(async function () {
    needJq(this);
    writeFileSync(path.join(folder, "sleep"), pause, { mode: 0o755 });
    port = await listening(github);
  });
  const goOn = () => writeFileSync(path.join(folder, "go-on"), "");
  beforeEach(() => {
    asked.splice(0);
    rmSync(path.join(folder, "go-on"), { force: true });
  });
  afterEach(async () => {
    const left = group?.pid;
    // A late request of a group that still ends would count in the next test.
    if (left !== undefined) await until("the step's processes to end", async () => !endGroup(left));
  });
  after(() => void github.close());

  it("is there after the step, and a fresh one in its place until the job ends", async () => {
    answers = ["one", "two", "three"].map((value) => ({ status: 200, value }));
    assert.equal(await step(), 0);
    assert.equal(readFileSync(file, "utf8"), "one");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    // Every later step has these: each of them opens the state.
    const variables = `AZURE_CLIENT_ID=client\nAZURE_TENANT_ID=tenant\nAZURE_FEDERATED_TOKEN_FILE=${file}\n`;
    assert.equal(readFileSync(path.join(folder, "env"), "utf8"), variables);
    goOn();
    await until("the third token", async () => readFileSync(file, "utf8") === "three");
    assert.equal(asked[0]?.url, "/token?api-version=2.0&audience=api://AzureADTokenExchange");
    assert.equal(asked[0]?.headers.authorization, "bearer the job's");
  });

  it("stays while GitHub gives no other", async () => {
    answers = [
      { status: 200, value: "one" },
      { status: 403, value: "" },
    ];
    assert.equal(await step(), 0);
    goOn();
    await until("three requests", async () => asked.length >= 3);
    assert.equal(readFileSync(file, "utf8"), "one");
    answers = [{ status: 200, value: "two" }];
    await until("the second token", async () => readFileSync(file, "utf8") === "two");
  });

  it("is missed at once: the step fails", async () => {
    answers = [{ status: 403, value: "" }];
    assert.notEqual(await step(), 0);
  });
});
