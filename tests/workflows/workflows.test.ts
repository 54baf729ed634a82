import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { environmentName } from "../../examples/ci/environments.ts";
import { jobs, setupText, steps, texts } from "./read.ts";

const root = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
const others = ["gitlab-ci.yml", "azure-pipelines.yml"].map((name) => root(`examples/ci/${name}`));
const [gitlab = "", azure = ""] = others;
const everywhere = [...Object.values(texts), ...others];

/** Whether a line of a page is in a block of commands. */
const inBlock = (text: string, index: number) => (text.slice(0, index).match(/^ *```/gm) ?? []).length % 2 === 1;

describe("the workflows", () => {
  it("may do what each needs, from main, behind an environment that the cloud's trust knows", () => {
    const stack = `\${{ matrix.stack }}`;
    const main = `\${{ vars.DEPLOY == 'true' && github.ref == 'refs/heads/main' && `;
    const granted = jobs.flatMap(({ at, permissions, inherited, environment, if: condition = "" }) => {
      const rights = permissions ?? inherited;
      if (!Object.values(rights).includes("write")) return [];
      const from = condition.startsWith(main) ? ["main"] : [];
      return [[at, [...Object.keys(rights).filter((key) => rights[key] === "write"), environment ?? "", ...from]]];
    });
    assert.deepEqual(Object.fromEntries(granted), {
      "contact.yml contact": ["id-token", `contact-\${{ inputs.cloud }}`, "main"],
      "deploy.yml look": ["id-token", environmentName("preview", stack), "main"],
      "deploy.yml up": ["id-token", environmentName("deploy", stack), "main"],
      "drift.yml drift": ["id-token", "issues", environmentName("preview", stack), "main"],
      "preview.yml comment": ["pull-requests", ""],
      "release.yml publish": ["contents", ""],
    });
    for (const text of everywhere)
      assert.doesNotMatch(text, /pull_request_target|secrets\.|PULUMI_ACCESS_TOKEN|password/i);
  });

  it("with rights take nothing from a cache, and run no package's script and nothing that a branch made", () => {
    for (const { at, run = "", uses = "", with: inputs } of steps.filter(({ writes }) => writes)) {
      assert.doesNotMatch(uses, /^actions\/cache/, at);
      if (uses.startsWith("actions/setup-node")) assert.equal(inputs?.["package-manager-cache"], false, at);
      assert.doesNotMatch(run, /\bnpm (?!ci --prefix "\$PROGRAM" --omit=dev --ignore-scripts )/, at);
      if (at === "preview.yml comment" && uses.startsWith("actions/checkout"))
        assert.equal(inputs?.ref, `\${{ github.event.pull_request.base.sha }}`);
    }
    for (const text of others) assert.match(text, /npm ci --prefix "\$PROGRAM" --omit=dev --ignore-scripts/);
  });

  it("put no text of an event into a script, pin every action and keep no token in the clone", () => {
    for (const { at, run, uses = "", with: inputs } of steps) {
      assert.doesNotMatch(run ?? "", /\$\{\{/, at);
      if (uses.startsWith("actions/checkout@")) assert.equal(inputs?.["persist-credentials"], false, at);
    }
    const lines = [...Object.values(texts), setupText].flatMap((text) => text.match(/uses: (?!\.\/).*$/gm) ?? []);
    const pins = new Map<string, string>();
    for (const line of lines) {
      const [, action = "", pin = ""] =
        /uses: ([\w/-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)$/.exec(line) ?? assert.fail(line);
      assert.equal(pins.get(action) ?? pin, pin, `${action} is pinned twice`);
      pins.set(action, pin);
    }
    for (const { at, uses = "", with: inputs } of steps)
      if (uses.startsWith("pulumi/actions@"))
        assert.match(String(inputs?.["pulumi-version-file"]), /\.pulumi\.version$/, at);
    assert.ok(gitlab.includes(`image: pulumi/pulumi-nodejs:${root(".pulumi.version").trim()}\n`));
  });

  it("start programs that there are", () => {
    const named = Object.values(texts).flatMap((text) => text.match(/(?<=with-node )[\w/]+\.ts/g) ?? []);
    assert.ok(named.length > 0);
    assert.deepEqual(
      named.filter((file) => !existsSync(new URL(`../../${file}`, import.meta.url))),
      [],
    );
  });

  it("end where any part of a pipe fails, which a runner's shell does only where it is named", () => {
    const piped = steps.filter(({ run = "" }) => /[^|]\|(?!\|)/.test(run.replaceAll(/'[^']*'|\$\{[^}]*\}/g, "")));
    assert.ok(piped.length > 8, String(piped.length));
    for (const { at, name, shell } of piped) assert.equal(shell, "bash", `${at} ${name}`);
  });

  it("of every host run up in parts, on the newest commit, with the plug-ins before they sign in", () => {
    const parts =
      /rev-parse (HEAD)|fenestra"? up --stack "\$STACK"[^|\n]*? "?--(plugins|preview|approved|drift|\$MODE)/g;
    const order = (text: string) => [...text.matchAll(parts)].map(([, head, part]) => head ?? part);
    const github = jobs.flatMap(({ at, steps: all }) => {
      const words = all.flatMap(({ uses = "", run = "" }) =>
        /login|configure-aws/.test(uses) ? ["sign in"] : order(run),
      );
      return words.some((word) => word !== "sign in") ? [[at, words]] : [];
    });
    assert.deepEqual(Object.fromEntries(github), {
      // Each part signs in again, since a token of Azure is good for an hour.
      "contact.yml contact": ["plugins", ...Array(5).fill("sign in")],
      "deploy.yml look": ["HEAD", "plugins", "sign in", "sign in", "preview"],
      // The token for Azure's state is that job's own.
      "deploy.yml up": ["HEAD", "plugins", "sign in", "approved"],
      "drift.yml drift": ["plugins", "sign in", "sign in", "drift"],
    });
    assert.deepEqual(order(gitlab), ["HEAD", "plugins", "preview", "approved"]);
    assert.deepEqual(order(azure), ["HEAD", "plugins", "$MODE"]);
    assert.deepEqual(azure.match(/(?<=mode: )\w+/g), ["preview", "approved"]);
    assert.ok(azure.indexOf("--plugins") < azure.indexOf("AzureCLI@2"));
    assert.ok(gitlab.indexOf("--plugins") < gitlab.indexOf("$AWS_TOKEN"));
    for (const text of everywhere) assert.doesNotMatch(text, /(?<!`)pulumi (up|refresh)\b|command: /);
  });

  it("and pages save nothing in a preview, and everything in an update", () => {
    const { stdout } = spawnSync("git", ["ls-files"], { cwd: new URL("../..", import.meta.url), encoding: "utf8" });
    const calls = stdout.split("\n").flatMap((file) => {
      if (!/^(?!tests\/).*\.(md|sh|ya?ml)$/.test(file)) return [];
      const text = root(file);
      return [...text.matchAll(/^ *(?!#|.*`).*\b(?:pulumi|run) (preview|up|refresh|destroy)\b.*$/gm)]
        .filter(({ index }) => !file.endsWith(".md") || inBlock(text, index))
        .map(({ 0: line, 1: verb = "" }) => {
          return { at: `${file}: ${line}`, verb, quick: line.includes("PULUMI_SKIP_CHECKPOINTS=true") };
        });
    });
    assert.ok(calls.filter(({ verb }) => verb === "preview").length >= 2, String(calls.length));
    for (const { at, verb, quick } of calls) assert.equal(quick, verb === "preview", at);
  });

  it("of a first contact goes by the commands of README, and destroys what it made however it ends", () => {
    const [down, kept] = jobs.find(({ at }) => at === "contact.yml contact")?.steps.slice(-2) ?? [];
    assert.match(down?.run ?? "", /fenestra down --stack "\$STACK" --yes/);
    for (const step of [down, kept]) assert.equal(step?.if, `\${{ always() }}`);
    const evidence = [...(texts["contact.yml"] ?? "").matchAll(/--evidence (\S+\.json)/g)].map(([, file]) => file);
    assert.deepEqual(String(kept?.with?.path).trim().split("\n"), evidence);
    for (const command of ["init", "up", "down"]) assert.ok(root("README.md").includes(`fenestra ${command} --stack`));
  });
});
