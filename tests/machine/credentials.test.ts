import assert from "node:assert/strict";
import fc from "fast-check";
import { z } from "zod";
import { loadConfig } from "../../components/config/load.ts";
import { plainTexts, reveal, textOf } from "../../components/gates/resources.ts";
import { credentialsDocument, proxyLogin, registryLogin } from "../../components/model/nodeSettings.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { awsObjects } from "../../plan/fakes/awsAccess.ts";
import { collectMachines } from "../../plan/fakes/collect.ts";
import { runConfig } from "../support/mocks.ts";
import { stackConfig } from "../support/stacks.ts";

const windowsSettings = z.looseObject({
  curl: z.array(z.string()),
  protected: z.array(z.string()),
  artifacts: z.array(z.looseObject({ urls: z.array(z.string()) })),
  credentials: z.looseObject({ files: z.array(z.looseObject({ path: z.string() })) }),
});
const password = 'pä$s "w`0rd';
const login = { username: "CORP\\svc", password };

const mirror = "mirror.example.com:8443";
const mirrorPlace = `@${registryLogin(mirror)}@`;

/** How a stack is recorded whose proxy and mirror want a login. */
async function recorded(cloud: "aws" | "azure") {
  const stack = `${cloud}-dev`;
  const config = {
    ...stackConfig(stack),
    "fenestra:httpProxy": "http://proxy.example.com:3128",
    "fenestra:proxyCredentials": JSON.stringify(login),
    "fenestra:mirror": JSON.stringify({
      artifacts: `https://${mirror}/files`,
      registries: { "registry.k8s.io": `https://${mirror}/v2/k8s` },
    }),
    "fenestra:registryCredentials": JSON.stringify({ [mirror]: login }),
  };
  return { config, program: (await runConfig(stack, config, "known-outputs")).program };
}

describe("logins of a proxy and a mirror", function () {
  this.timeout(60_000);

  it("are encoded so that curl, Go and a shell read it back, whatever it is", () => {
    const visible = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => !/\p{C}/u.test(text));
    fc.assert(
      fc.property(visible, visible, (username, secret) => {
        fc.pre(!username.includes(":"));
        const text = credentialsDocument({ proxyCredentials: { username, password: secret } }) ?? "";
        const userInfo: string = JSON.parse(text)[proxyLogin];
        assert.match(userInfo, /^[A-Za-z0-9_.%-]+:[A-Za-z0-9_.%-]+$/);
        const url = new URL(`http://${userInfo}@proxy:1`);
        assert.deepEqual([url.username, url.password].map(decodeURIComponent), [username, secret]);
      }),
    );
  });

  for (const cloud of ["aws", "azure"] as const)
    it(`are on ${cloud} in one secret of the cloud and in nothing else that the program makes`, async () => {
      const { program } = await recorded(cloud);
      const all = program.resources.flatMap(({ name, inputs, outputs }) =>
        [...plainTexts(inputs), ...plainTexts(outputs)].map(({ path, text }) => ({ name, path, text })),
      );
      const basic = Buffer.from(`${login.username}:${password}`).toString("base64");
      const forms = [password, JSON.stringify(password).slice(1, -1), encodeURIComponent(password), basic];
      const showing = all.filter(({ text }) => forms.some((form) => text.includes(form)));
      assert.deepEqual(showing, []);
      const holding = program.resources.filter(({ inputs }) =>
        plainTexts(reveal(inputs)).some(({ text }) => text.includes("CORP%5Csvc") && text.includes(basic)),
      );
      const names = holding.map(({ name }) => name);
      assert.deepEqual(names, [`${cloud}-dev-secrets-credentials`]);
      const machines = collectMachines(program);
      assert.ok(machines.length > 2);
      for (const machine of machines) {
        const { files } = decodeUserData(machine.userData, awsObjects(program, machine.role));
        assert.ok(!files.some(({ content }) => forms.some((form) => content.includes(form))), machine.name);
        const needing = files.filter(({ content }) => content.includes("http://@LOGIN_PROXY@@proxy.example.com:3128"));
        assert.ok(needing.length > 0 && needing.every(({ path }) => /[\\/]templates[\\/]/.test(path)), machine.name);
        assert.ok(!files.some(({ content }) => content.includes("http://proxy.example.com:3128")), machine.name);
        const withMirror = files.filter(({ content }) => content.includes(mirrorPlace)).map(({ path }) => path);
        const [curl = "", hosts = "", own = "", ...more] = withMirror.sort((a, b) => a.length - b.length);
        assert.match(curl, /[\\/]templates[\\/](etc[\\/])?fenestra[\\/](curl[\\/].curlrc|curl.conf)$/);
        assert.match(hosts, /[\\/]templates[\\/].*[\\/]certs.d[\\/]registry.k8s.io[\\/]hosts.toml$/);
        assert.match(own, /[\\/]templates[\\/].*[\\/]certs.d[\\/]mirror.example.com[:_]8443_?[\\/]hosts.toml$/);
        assert.deepEqual(more, []);
        const settings = files.find(({ path }) => path.endsWith("machine.json"))?.content;
        if (settings === undefined) continue;
        const { curl: args, artifacts, protected: folders, credentials } = windowsSettings.parse(JSON.parse(settings));
        assert.deepEqual(args.slice(-2), ["--config", "C:\\fenestra\\curl.conf"]);
        assert.ok(artifacts.every(({ urls }) => urls.length === 1 && urls[0]?.startsWith(`https://${mirror}/files/`)));
        for (const { path } of credentials.files)
          assert.ok(
            folders.some((folder) => path.startsWith(`${folder}\\`)),
            path,
          );
      }
    });

  it("are refused in clear text, and never shown", async () => {
    const { config } = await recorded("aws");
    const failure = (changed: Readonly<Record<string, string>>, isEncrypted?: () => boolean): string => {
      try {
        loadConfig({ ...config, ...changed }, undefined, isEncrypted);
        return "";
      } catch (error) {
        return error instanceof Error ? error.message : "";
      }
    };
    const refusal = failure({});
    assert.ok(
      refusal.includes(`pulumi config set --secret --path 'fenestra:registryCredentials["${mirror}"].password'; then`),
    );
    assert.match(
      refusal,
      /config\.fenestra:proxyCredentials\.password: is a password in clear text\n +found: +not shown\n.*\n +fix: +pulumi config set --secret --path fenestra:proxyCredentials\.password; then/,
    );
    assert.equal(
      failure({}, () => true),
      "",
    );
    const mistyped = { "fenestra:proxyCredentials": JSON.stringify({ username: "a", pasword: password }) };
    const inUrl = failure({ "fenestra:httpProxy": `http://svc:${password}@proxy.example.com:3128` }, () => true);
    assert.match(
      inUrl,
      /fix: +pulumi config set --secret --path fenestra:proxyCredentials\.password, and the name as username/,
    );
    const slashed = failure({ "fenestra:httpProxy": "http://svc:a/w`0rd@proxy.example.com:3128" }, () => true);
    for (const message of [refusal, failure(mistyped), inUrl, slashed]) assert.ok(!message.includes("w`0rd"), message);
  });

  it("may be used by the machines that need it, and by no one else", async () => {
    const { program } = await recorded("azure");
    const grants = program.resources
      .filter(({ type }) => type.endsWith(":RoleAssignment"))
      .filter(({ inputs }) => /\/secrets\/credentials-[a-z0-9]{8}$/.test(textOf(inputs.scope) ?? ""))
      .map(({ name, inputs }) => [name, textOf(inputs.roleDefinitionId)?.split("/").at(-1)]);
    const reader = "4633458b-17de-408a-b874-0445c86b69e6";
    const pools = program.resources.filter(({ type }) => type === "fenestra:azure:Pool").map(({ name }) => name);
    assert.deepEqual(
      grants.sort(),
      ["azure-dev-secrets", ...pools.map((name) => `${name}-identity`)]
        .map((name) => [`${name}-read-credentials`, reader])
        .sort(),
    );
    const aws = (await recorded("aws")).program.resources.flatMap(({ name, inputs }) =>
      plainTexts(inputs)
        .filter(({ text }) => text.includes(":parameter/fenestra/aws-dev/credentials"))
        .map(() => name),
    );
    assert.ok(
      aws.length > 1 && aws.every((name) => /(pool-\w+|control-plane)-identity-(worker|machine)$/.test(name)),
      `${aws}`,
    );
  });
});
