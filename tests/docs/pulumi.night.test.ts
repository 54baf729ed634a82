// Sees what nothing faster does: recipes of the documents as Pulumi's own CLI takes them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { loadConfig } from "../../components/config/load.ts";
import { readStackFile } from "../../components/config/stackFile.ts";
import { runConfig } from "../support/mocks.ts";
import { buildPulumi, pulumiVersion } from "../support/skip.ts";
import { stackConfig } from "../support/stacks.ts";
import { listening, suiteFolder } from "../support/suite.ts";
import { documents, root } from "./documents.ts";

const folder = suiteFolder();
const at = (...names: readonly string[]) => path.join(folder, ...names);

/** Blocks that call Pulumi or touch a state. */
const blocks = documents().flatMap(({ file, text: all }) =>
  [...all.matchAll(/^( *)```sh.*\n([\s\S]*?)^\1```$/gm)]
    .filter(([, , text = ""]) => /\bpulumi |\.pulumi\//.test(text))
    .map(({ index, 2: text = "" }) => ({ at: `${file}:${all.slice(0, index).split("\n").length}`, text })),
);

/**
 * A folder and a Vault that rotates as Azure's does stand for stores and keys. Of what needs providers only the options
 * are tried.
 */
const prelude = `
aws() { case "$*" in *copy-object*) cp "$STORE.good" "$STORE" ;; *) echo x ;; esac; }
az() { case "$*" in
  *'keyvault key show'*) echo https://v.vault.azure.net/keys/pulumi/1 ;;
  *'blob download'*) cp "$STORE" state.json ;;
  *'blob upload'*) cp edited.json "$STORE" ;;
  *) echo x ;; esac; }
gh() { echo "$*" >> calls; }
kubectl() { :; }; make() { :; }; cli/fenestra() { :; }
pulumi() {
  local args=() each
  for each; do case "$each" in
    s3://*|azblob://*|file://~) each=file://$STATE ;;
    awskms://*) each=hashivault://pulumi-1 ;;
    azurekeyvault://*) each=hashivault://pulumi-\${each##*/} ;;
  esac; args+=("$each"); done
  case "$1" in up|preview|refresh|destroy|import|plugin) args+=(--help) ;; esac
  command pulumi "\${args[@]}" <<< pw
}`;

let newest = 1;
const vault = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const { plaintext = "", ciphertext = "" }: Record<string, string> = JSON.parse(body);
  const [, verb, name = ""] = /(encrypt|decrypt)\/(.+)$/.exec(request.url ?? "") ?? [];
  const key = name === "pulumi" ? `pulumi-${newest}` : name;
  const [of, text] = ciphertext.split(" ");
  if (verb === "decrypt" && of !== key) response.writeHead(400);
  response.end(
    JSON.stringify({ data: verb === "encrypt" ? { ciphertext: `${key} ${plaintext}` } : { plaintext: text } }),
  );
});

const env: NodeJS.ProcessEnv = {
  ...{ ...process.env, PATH: `${folder}:${process.env.PATH}`, PULUMI_HOME: at("home"), STATE: at("state") },
  ...{ VAULT_TOKEN: "t" },
  ...{ PULUMI_SKIP_UPDATE_CHECK: "true", PULUMI_SKIP_CONFIRMATIONS: "true", PULUMI_CONFIG_PASSPHRASE: "" },
};

/** Runs commands in the project; rejects where they fail. */
async function run(text: string) {
  const STORE = at(`state/.pulumi/stacks/fenestra/${env.STACK}.json`);
  // Not by BASH_ENV, which bash leaves out where its input is a socket and SHLVL is low (bash: shell.c, isnetconn).
  const args = ["-e", "-o", "pipefail", "-c", `. ${at("prelude")}\n${text}`];
  const options = { cwd: at("project"), env: { ...env, STORE } };
  return (await promisify(execFile)("bash", args, options)).stdout;
}

const written = (name: string) => readFileSync(at("project", name), "utf8");
const stackFile = () => written(`stacks/Pulumi.${env.STACK}.yaml`);

/** Writes a state; without resources one of which all is destroyed. */
function stateFile(name: string, resources: readonly object[] = []) {
  const manifest = { time: new Date(0).toISOString(), magic: "", version: "" };
  writeFileSync(at("project", name), JSON.stringify({ version: 3, deployment: { manifest, resources } }));
}

/** A stack with the resources of the program and a secret in its file, in a backend of its own. */
async function ready(stack: string, provider: string) {
  env.STACK = stack;
  newest = 1;
  const { program } = await runConfig(stack, stackConfig(stack), "known-outputs");
  const own = program.resources.filter(({ read }) => read === undefined);
  const resources = own.map(({ urn, type, custom, parent, provider: by, options: { protect } }) => ({
    ...{ urn, type, custom, parent, protect },
    ...(custom && { id: "x", ...(by !== undefined && { provider: `${by}::x` }) }),
    ...(parent === undefined && { outputs: { kubeconfig: "pw", workloadIdentity: {}, signInKubeconfigs: {} } }),
  }));
  await run('git reset -q --hard; git clean -fdq; rm -rf "$STATE" "$STATE-2"; mkdir "$STATE" "$STATE-2"');
  stateFile("all.json", resources);
  stateFile("nothing.json");
  const environments = {
    PULUMI_BACKEND_URL: `file://${env.STATE}-2`,
    PULUMI_SECRETS_PROVIDER: "hashivault://pulumi-2",
  };
  const ofCi = { [stack]: environments };
  writeFileSync(at("project/environments.json"), JSON.stringify(ofCi));
  const urn = "urn:pulumi:aws::fenestra-ci::pulumi:pulumi:Stack::fenestra-ci-aws";
  stateFile("ci.json", [{ urn, custom: false, type: "pulumi:pulumi:Stack", outputs: { environments: ofCi } }]);
  await run(`pulumi login "file://$STATE"; pulumi stack init "$STACK" --secrets-provider ${provider}
    pulumi config set --secret fenestra:own; pulumi stack import --file all.json; git commit -qam ready`);
}

/** Both the file's secret and the state are read with the second key. */
async function moved() {
  assert.equal((await run('pulumi config get fenestra:own --stack "$STACK"')).trim(), "pw");
  assert.match(await run('pulumi stack export --stack "$STACK"'), /"url": "hashivault:\/\/pulumi-2"/);
}

interface Recipe {
  readonly stack?: string;
  readonly provider?: string;
  /** What happened before. */
  readonly first?: string;
  /** What stands for the reader's names. */
  readonly names?: Readonly<Record<string, string>>;
  /** A part without which it fails, and how. */
  readonly without?: readonly [RegExp, RegExp];
  readonly check?: () => void | Promise<void>;
}

/** By words of a block; what is not here is run as it is. */
const recipes: Readonly<Record<string, Recipe>> = {
  "output kubeconfig": { check: () => assert.equal(written("kubeconfig").trim(), "pw") },
  "output environments": {
    first: "pulumi stack init aws --cwd examples/ci; pulumi stack import --cwd examples/ci --file ../../ci.json",
    check: () => assert.match(written("calls"), /^variable set PULUMI_BACKEND_URL --env aws-prod --body file:/m),
  },
  'pulumi login "$(jq -r --arg stack "$STACK" \'.[$stack].PULUMI_BACKEND_URL\' environments.json)"\npulumi': {
    first: 'pulumi stack rm --force --preserve-config "$STACK"',
    check: () => assert.match(stackFile(), /^secretsprovider: hashivault:\/\/pulumi-2$/m),
  },
  OLD_VERSION: {
    provider: "hashivault://pulumi",
    names: {
      "azurekeyvault://VAULT.vault.azure.net/keys/pulumi/OLD_VERSION": "hashivault://pulumi-1",
      NEW_VERSION: "2",
      STACK: "azure-dev",
    },
    without: [/^sed .*/m, /transit\/decrypt\/pulumi\n/],
    check: moved,
  },
  "aws s3api list-object-versions --bucket STATE": {
    first: 'cp "$STORE" "$STORE.good"; echo > "$STORE"',
    check: async () => assert.match(await run("pulumi stack export"), /aws-prod-control-plane-0/),
  },
  "config set": {
    stack: "aws-restricted",
    check: () => {
      const { "fenestra:own": _, ...config } = readStackFile("aws-restricted", pathToFileURL(at("project/stacks/")));
      assert.equal(loadConfig(config).registryCredentials?.["mirror.example.com"]?.username, "robot");
    },
  },
  "pulumi cancel": {
    first: 'lock="$STATE/.pulumi/locks/organization/fenestra/$STACK"; mkdir -p "$lock"; echo "{}" > "$lock/1.json"',
    check: () => assert.deepEqual(readdirSync(at("state/.pulumi/locks/organization/fenestra/aws-prod")), []),
  },
};

describe(`recipes for states and stack files, by Pulumi's CLI ${pulumiVersion} as it is built from its module`, function () {
  this.timeout(240_000);

  before(async function () {
    buildPulumi(this, at("pulumi"));
    env.VAULT_ADDR = `http://127.0.0.1:${await listening(vault)}`;
    writeFileSync(at("prelude"), prelude);
    mkdirSync(at("project/stacks"), { recursive: true });
    for (const each of ["Pulumi.yaml", "examples/ci/Pulumi.yaml"]) cpSync(path.join(root, each), at("project", each));
    for (const each of ["aws-prod", "aws-restricted", "azure-dev"].map((stack) => `stacks/Pulumi.${stack}.yaml`))
      cpSync(path.join(root, "examples", each), at("project", each));
    await run("git init -q; git config user.name t; git config user.email t@example.com; git add .; git commit -qm 0");
  });
  after(() => vault.close());

  for (const { at: place, text } of blocks)
    it(place, async () => {
      const [own = {}] = Object.entries(recipes).flatMap(([words, recipe]) => (text.includes(words) ? [recipe] : []));
      const { stack = /azure/.test(place + text) ? "azure-dev" : "aws-prod", provider = "hashivault://pulumi-1" } = own;
      const names = { "--stack aws-dev": `--stack ${stack}`, "init aws-dev": `init ${stack}`, ...own.names };
      const script = Object.entries(names).reduce((all, [name, value]) => all.replaceAll(name, value), text);
      const begin = async () => {
        // The others are tried for their options alone.
        if (!/pulumi (login|stack|config|state|cancel)|\.pulumi\//.test(text)) return;
        await ready(stack, provider);
        newest = 2;
        if (own.first !== undefined) await run(own.first);
      };
      if (own.without !== undefined) {
        await begin();
        await assert.rejects(run(script.replace(own.without[0], "")), own.without[1]);
      }
      await begin();
      await run(script);
      await own.check?.();
    });

  it("have no words that are in no block", () => {
    assert.deepEqual(
      Object.keys(recipes).filter((words) => !blocks.some(({ text }) => text.includes(words))),
      [],
    );
    assert.ok(blocks.length > 20, String(blocks.length));
  });

  it("are called in prose with commands and options that there are", async () => {
    await assert.rejects(run("pulumi up --replaces x --help"), /unknown flag/);
    const pattern = /`(?:[A-Z_0-9]+=\S+ )?pulumi ([a-z][^`]*)`/g;
    const calls = new Set(
      documents().flatMap(({ prose }) => [...prose.matchAll(pattern)].map(([, words = ""]) => words)),
    );
    assert.ok(calls.size > 10, String(calls.size));
    for (const words of calls) {
      const command = words.replaceAll(/\s+/g, " ");
      const [, main] = /^((?:(?:stack|config|state|plugin) )?[a-z][a-z-]*)/.exec(command) ?? [];
      assert.ok((await run(`command pulumi ${command} x --help`)).includes(`pulumi ${main}`), command);
    }
  });
});
