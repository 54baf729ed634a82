import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import { z } from "zod";
import { roles } from "../../components/azure/roles.ts";
import { loadConfig } from "../../components/config/load.ts";
import { plainTexts, reveal, textOf } from "../../components/gates/values.ts";
import { scriptsObject } from "../../components/machine/bundle.ts";
import { withFetchedScripts } from "../../components/machine/linux/cloudConfig.ts";
import { packWindowsAws, packWindowsAzure } from "../../components/machine/windows/userData.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { credentialsDocument, proxyLogin, registryLogin } from "../../components/model/nodeSettings.ts";
import { decodeUserData, decodeWindows } from "../../plan/decode/userData.ts";
import { awsObjects } from "../../plan/fakes/awsAccess.ts";
import { collectMachines } from "../../plan/fakes/cloud.ts";
import { newAuthority } from "../../rehearsal/clouds/server.ts";
import { runConfig, specOf } from "../support/mocks.ts";
import { stackConfig } from "../support/stacks.ts";
import {
  exampleControlPlane,
  exampleLinuxWorker,
  exampleWindowsWorker,
  fileOf,
  registryPaths as paths,
  registryPayload as payloadOf,
  scriptsBucket,
} from "./examples.ts";
import { describeOnMachine, machine } from "./linux/machine.ts";

const windowsSettings = z.looseObject({
  protected: z.array(z.string()),
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

  it("are encoded so that curl, Go and a shell read them back", () => {
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
    it(`are on ${cloud} in one secret of the cloud and nowhere else`, async () => {
      const { program } = await recorded(cloud);
      const all = program.resources.flatMap(({ name, inputs, outputs }) =>
        [...plainTexts(inputs), ...plainTexts(outputs)].map(({ path, text }) => ({ name, path, text })),
      );
      const basic = Buffer.from(`${login.username}:${password}`).toString("base64");
      const forms = [password, JSON.stringify(password).slice(1, -1), encodeURIComponent(password), basic];
      assert.deepEqual(
        all.filter(({ text }) => forms.some((form) => text.includes(form))),
        [],
      );
      assert.deepEqual(
        program.resources
          .filter(({ inputs }) =>
            plainTexts(reveal(inputs)).some(({ text }) => text.includes("CORP%5Csvc") && text.includes(basic)),
          )
          .map(({ name }) => name),
        [`${cloud}-dev-secrets-credentials`],
      );
      const machines = collectMachines(program);
      assert.ok(machines.length > 2);
      for (const machine of machines) {
        const { files } = decodeUserData(machine.userData, awsObjects(program, machine.role));
        assert.ok(!files.some(({ content }) => forms.some((form) => content.includes(form))), machine.name);
        const needing = files.filter(({ content }) => content.includes("http://@LOGIN_PROXY@@proxy.example.com:3128"));
        assert.ok(needing.length > 0 && needing.every(({ path }) => /[\\/]templates[\\/]/.test(path)), machine.name);
        assert.ok(!files.some(({ content }) => content.includes("http://proxy.example.com:3128")), machine.name);
        const withMirror = files.filter(({ content }) => content.includes(mirrorPlace));
        assert.ok(
          withMirror.length === 3 && withMirror.every(({ path }) => /[\\/]templates[\\/]/.test(path)),
          machine.name,
        );
        const settings = files.find(({ path }) => path.endsWith("machine.json"))?.content;
        if (settings === undefined) continue;
        const { protected: folders, credentials } = windowsSettings.parse(JSON.parse(settings));
        for (const { path } of credentials.files)
          assert.ok(
            folders.some((folder) => path.startsWith(`${folder}\\`)),
            path,
          );
      }
    });

  it("are refused in clear text, and never shown", async () => {
    const { config } = await recorded("aws");
    const failure = (changed: Readonly<Record<string, string>>, isEncrypted?: () => boolean) => {
      try {
        loadConfig({ ...config, ...changed }, undefined, isEncrypted);
        return "";
      } catch (error) {
        return error instanceof Error ? error.message : "";
      }
    };
    const refusal = failure({});
    assert.match(refusal, /registryCredentials.*password: is a password in clear text/);
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
    const slashed = failure({ "fenestra:httpProxy": "http://svc:a/w`0rd@proxy.example.com:3128" }, () => true);
    for (const message of [refusal, failure(mistyped), inUrl, slashed]) assert.ok(!message.includes("w`0rd"), message);
    assert.doesNotMatch(JSON.stringify(clusterSpec(loadConfig(config, undefined, () => true))), /w`0rd/);
  });

  it("may be used by the machines that need it alone", async () => {
    const { resources } = (await recorded("azure")).program;
    const grants = resources.filter(
      ({ type, inputs }) =>
        type.endsWith(":RoleAssignment") && /\/secrets\/credentials-[a-z0-9]{8}$/.test(textOf(inputs.scope) ?? ""),
    );
    const pools = resources.filter(({ type }) => type === "fenestra:azure:Pool").map(({ name }) => `${name}-identity`);
    assert.deepEqual(
      new Set(grants.map(({ name, inputs }) => `${name} ${textOf(inputs.roleDefinitionId)?.split("/").at(-1)}`)),
      new Set(["azure-dev-secrets", ...pools].map((name) => `${name}-read-credentials ${roles.keyVaultSecretsUser}`)),
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

describe("pulls from the cloud's own registries", () => {
  it("bring the plug-in where the kubelet looks, for hosts and identity", () => {
    for (const os of ["linux", "windows"] as const) {
      const own = [payloadOf("aws", os), payloadOf("azure", os)] as const;
      for (const payload of own) {
        const kubelet = fileOf(payload, os === "linux" ? "/etc/fenestra/kubelet.env" : "C:\\fenestra\\machine.json");
        for (const flag of [`config=${paths[os].config}`, `bin-dir=${paths[os].bin}`])
          assert.ok(kubelet.replaceAll("\\\\", "\\").includes(`--image-credential-provider-${flag}`), flag);
      }
      const [[aws], [azure]] = own.map((payload) => parse(fileOf(payload, paths[os].config)).providers);
      assert.deepEqual(aws, {
        name: "ecr-credential-provider",
        matchImages: ["123456789012.dkr.ecr.eu-central-1.amazonaws.com", "123456789012.dkr-ecr.eu-central-1.on.aws"],
        defaultCacheDuration: "0s",
        apiVersion: "credentialprovider.kubelet.k8s.io/v1",
      });
      assert.deepEqual(
        [azure.name, azure.args, azure.matchImages],
        [
          os === "linux" ? "acr-credential-provider" : "azure-acr-credential-provider",
          [paths[os].cloud],
          ["*.azurecr.io", "*.*.geo.azurecr.io"],
        ],
      );
      assert.deepEqual(JSON.parse(fileOf(own[1], paths[os].cloud)), {
        cloud: "AzurePublicCloud",
        tenantId: "tenant",
        useManagedIdentityExtension: true,
        userAssignedIdentityID: "11111111-2222-3333-4444-555555555555",
      });
    }
  });
});

const pems = ["One", "Two"].map((name) => newAuthority(name).certificate);
const settings = { certificateAuthorities: JSON.stringify(pems) };

describe("authorities of one's own", () => {
  for (const cloud of ["aws", "azure"] as const) {
    const spec = specOf(`${cloud}-dev`, settings);
    it(`are trusted by machines on ${cloud} before these fetch anything`, () => {
      for (const payload of [exampleControlPlane(spec), exampleLinuxWorker(spec)]) {
        const packed = cloud === "aws" ? withFetchedScripts(payload, scriptsObject(payload), scriptsBucket) : payload;
        assert.ok(packed.files.some(({ path }) => path === "/opt/fenestra/stages/trust.sh"));
        assert.match(fileOf(packed, "/etc/fenestra/stages.tsv"), /^trust\t.*\n(scripts|identity)\t/);
      }
      const payload = exampleWindowsWorker(spec);
      const object = scriptsObject(payload);
      const packed =
        cloud === "aws"
          ? packWindowsAws(payload, object, scriptsBucket)
          : Buffer.from(packWindowsAzure(payload), "base64").toString();
      const { source, files } = decodeWindows(Buffer.from(packed), () => Buffer.from(object.content));
      for (const [index, pem] of pems.entries()) {
        const path = `C:\\fenestra\\trust\\fenestra-${index + 1}.crt`;
        assert.equal(files.find((file) => file.path === path)?.content, pem);
        assert.ok(source.indexOf(`certutil.exe -f -addstore Root '${path}'`) < source.indexOf("-File $a.entry"));
        assert.ok(!object.content.includes("fenestra-1.crt"));
      }
    });
  }

  describeOnMachine("of a machine", () =>
    it("are in the bundle, earlier ones no longer", () => {
      const here = machine(exampleLinuxWorker(specOf("aws-dev", settings)));
      here.write("/etc/ca-certificates.conf", "");
      here.write("/etc/ssl/certs/fenestra-9.pem", "");
      here.stageOrFail("trust");
      const bundle = here.read("/etc/ssl/certs/ca-certificates.crt");
      assert.deepEqual(bundle.match(/BEGIN/g)?.length, 2);
      for (const pem of pems) assert.ok(bundle.includes(pem.trim()));
    }),
  );
});
