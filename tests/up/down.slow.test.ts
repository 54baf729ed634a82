// Sees what nothing faster does: `down`, ended in the middle of each of its calls and run again.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { downSteps } from "../../cli/down.ts";
import type { Engine } from "../../cli/up/engine.ts";
import { ownPlace } from "../../cli/up/places.ts";
import { runSteps } from "../../cli/up/steps.ts";
import { exampleSpec } from "../support/stacks.ts";
import { suiteFolder } from "../support/suite.ts";

/**
 * The clouds' own programs with one bucket or group, key, and vault. What they say of a thing that is gone: AWS KMS API
 * reference, ScheduleKeyDeletion and DeleteAlias, "Errors"; azure-cli, keyvault/_validators.py.
 */
const clouds = `#!/bin/bash
no() { echo "$*" >&2; exit 254; }
made() { test -e "$MADE/$1"; }
count() { n=$(($(cat "$CALLS") + 1)); echo $n > "$CALLS"; }
count
expired='An error occurred (ExpiredTokenException): the security token is expired'
[[ $n != "$BEFORE" ]] || no "$expired"
case "\${0##*/} $*" in
  *tagging*|*describe-volumes*|'az group list '*) ;;
  'aws s3api '*)
    made place || no 'An error occurred (NoSuchBucket): The specified bucket does not exist'
    case "$2" in
      list-object-versions) if made objects; then echo '{"Objects": [{"VersionId": "1"}]}'; else echo '{"Objects": null}'; fi ;;
      delete-objects) rm "$MADE/objects" ;;
      delete-bucket) made objects && no 'An error occurred (BucketNotEmpty)'; rm "$MADE/place" ;;
    esac ;;
  'aws kms schedule-key-deletion '*'--key-id ') no 'Invalid length for parameter KeyId, value: 0, valid min length: 1' ;;
  'aws kms schedule-key-deletion '*)
    made key || no 'An error occurred (KMSInvalidStateException): arn:aws:kms:x:key/y is pending deletion.'
    rm "$MADE/key" ;;
  'aws kms '*)
    made alias || no 'An error occurred (NotFoundException): Alias arn:aws:kms:x:alias/y is not found.'
    if [[ $2 == delete-alias ]]; then rm "$MADE/alias"; else echo key-id; fi ;;
  'az keyvault delete '*) ! made vault || mv "$MADE/vault" "$MADE/deleted vault" ;;
  'az keyvault purge '*)
    made 'deleted vault' || no 'No deleted Vault or HSM was found with name v'
    rm "$MADE/deleted vault" ;;
  'az group delete '*)
    made place || no '(ResourceGroupNotFound) Resource group could not be found.'
    ! made vault || mv "$MADE/vault" "$MADE/deleted vault"
    rm "$MADE/place" ;;
  *) no "$*" ;;
esac
[[ $n != "$AFTER" ]] || no "$expired"
`;

const things = { aws: ["alias", "key", "objects", "place"], azure: ["place", "vault"] } as const;

const accounts = { aws: "210987654321", azure: "21098765-4321-4321-8321-210987654321" } as const;

describe("down with the place of its state, ended in the middle of each call", function () {
  this.timeout(300_000);
  const folder = suiteFolder();
  const at = (name: string) => path.join(folder, name);
  const made = () => readdirSync(at("made")).toSorted();
  const kept = { PATH: process.env.PATH };
  before(() => {
    for (const name of ["aws", "az"]) writeFileSync(at(name), clouds, { mode: 0o755 });
    Object.assign(process.env, { PATH: `${folder}:${kept.PATH}`, MADE: at("made"), CALLS: at("calls") });
  });
  after(() => Object.assign(process.env, kept));

  /** A stack of a few resources, where calls count too. */
  function engineOf(stack: string): Engine {
    const call = (act: () => void) => {
      const n = Number(readFileSync(at("calls"), "utf8")) + 1;
      writeFileSync(at("calls"), String(n));
      // As Pulumi's CLI without the bucket.
      if (!made().includes("place")) throw new Error("could not list bucket: NoSuchBucket");
      if (String(n) === process.env.BEFORE) throw new Error("the token is expired");
      act();
      if (String(n) === process.env.AFTER) throw new Error("the token is expired");
    };
    const stacks = (): string[] => JSON.parse(readFileSync(at("stacks"), "utf8"));
    const put = (names: readonly string[]): void => writeFileSync(at("stacks"), JSON.stringify(names));
    const none = async () => assert.fail();
    return {
      exists: async () => {
        call(() => {});
        return stacks().some((each) => each.startsWith(stack));
      },
      others: async () => {
        call(() => {});
        return [];
      },
      state: async () => {
        call(() => {});
        return stacks().includes(`${stack} with resources`) ? ["a", "b"] : [];
      },
      destroy: async () => call(() => put([stack])),
      remove: async () => call(() => put([])),
      kubeconfig: async () => undefined,
      ...{ init: none, look: none, take: none, up: none, call: none, comparison: [] },
    };
  }

  /** Runs it to its end. @returns why it failed, and what it said */
  async function down(cloud: "aws" | "azure", fail: { readonly BEFORE?: string; readonly AFTER?: string } = {}) {
    const [stack, region] = [`${cloud}-dev`, "eu-central-1"];
    writeFileSync(at("calls"), "0");
    for (const name of ["BEFORE", "AFTER"] as const) process.env[name] = fail[name] ?? "none";
    const said: string[] = [];
    const out = (text: string) => void said.push(text);
    const { signal } = new AbortController();
    const session = {
      signal,
      ...{ stack, spec: exampleSpec(`${cloud}-dev`), file: at("stack.yaml"), pulumi: "3.270.0" },
      place: ownPlace({ cloud, region, account: accounts[cloud] }),
      engine: engineOf(stack),
      secrets: z.looseObject({}).parse(parse(readFileSync(at("stack.yaml"), "utf8"))),
    };
    const terminal = { out, err: out, note: out, progress: () => {} };
    const failed = await runSteps(downSteps(session, { yes: true, stateToo: true }, terminal), {
      ...{ out, signal, record: () => {} },
    }).then(
      () => undefined,
      (error: Error) => error.message,
    );
    return { failed, said: said.join("") };
  }

  for (const cloud of ["aws", "azure"] as const)
    it(`leaves nothing that is paid for when it is run again, or says so, on ${cloud}`, async () => {
      const start = () => {
        rmSync(at("made"), { recursive: true, force: true });
        mkdirSync(at("made"));
        for (const name of things[cloud]) writeFileSync(path.join(at("made"), name), "");
        writeFileSync(at("stacks"), JSON.stringify([`${cloud}-dev with resources`]));
        writeFileSync(at("stack.yaml"), "secretsprovider: p\nencryptedkey: k\nconfig: {}\n");
      };
      start();
      const whole = await down(cloud);
      assert.deepEqual([whole.failed, made()], [undefined, []]);
      // What is printed works by hand too.
      assert.match(whole.said, /^\n\[1\/5\].*\n {2}\$ export PULUMI_BACKEND_URL='?(s3|azblob):/);
      const calls = Number(readFileSync(at("calls"), "utf8"));
      assert.ok(calls > 12, String(calls));
      for (let n = 1; n <= calls; n += 1)
        for (const when of ["BEFORE", "AFTER"]) {
          start();
          const first = await down(cloud, { [when]: String(n) });
          // A list of what is not there any more is not needed.
          if (first.failed === undefined) assert.deepEqual(made(), [], `${when} ${n}`);
          else assert.match(first.failed, /expired|BucketNotEmpty/, `${when} ${n}`);
          const second = first.failed === undefined ? first : await down(cloud);
          assert.deepEqual(made(), [], `${when} ${n}: ${first.failed}\nagain: ${second.failed}`);
          assert.equal(
            readFileSync(at("stack.yaml"), "utf8").includes("encryptedkey"),
            /take secretsprovider and encryptedkey out/.test(second.said),
            `${when} ${n}`,
          );
          // Of the last call alone the answer was lost.
          assert.equal(second.failed === undefined, when === "BEFORE" || n < calls, `${when} ${n}: ${second.failed}`);
        }
    });
});
