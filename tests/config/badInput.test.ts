import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { schemaOf } from "../../components/config/cloudSchema.ts";
import { configJsonSchema } from "../../components/config/jsonSchema.ts";
import { loadConfig, validate } from "../../components/config/load.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { ConfigError, hidesValue, showValue } from "../../components/model/problem.ts";
import { selectableVersions } from "../../components/model/releases.ts";
import { gmsa } from "../kubernetes/switches.ts";
import { matchAnswers } from "../support/snapshot.ts";
import { changedAt, configTexts, leavesOf, type PlainConfig } from "../support/stacks.ts";

const lock = readArtifactLock();
const releases = selectableVersions(lock).join(", ");
const pools = [
  { name: "linux", os: "linux" },
  { name: "win", os: "windows-2022" },
];
const valid = {
  aws: {
    cloud: "aws",
    name: "test",
    region: "eu-central-1",
    network: { zones: ["eu-central-1a", "eu-central-1b"] },
    pools,
  },
  azure: { cloud: "azure", name: "test", region: "westeurope", network: { zones: ["1", "2"] }, pools },
} as const;
const rows = z.array(z.partialRecord(z.enum(["aws", "azure"]), z.record(z.string(), z.unknown())));

type Cloud = keyof typeof valid;

const changed = (cloud: Cloud, changes: Readonly<Record<string, unknown>>) => changedAt(valid[cloud], changes);

function refusalOf(load: () => unknown): ConfigError | undefined {
  try {
    load();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error;
  }
}

/** A config's errors, if any, by both ways in: plain values and Pulumi's texts. */
const refusals = (config: PlainConfig): readonly (ConfigError | undefined)[] =>
  [() => validate(config, lock), () => loadConfig(configTexts(config), lock)].map(refusalOf);

const messagesOf = (config: PlainConfig) =>
  refusals(config)
    .map((error) => error?.message)
    .join("\n");

/** A config's error, the same by both ways in. */
function refusal(config: PlainConfig) {
  const [plain, texts] = refusals(config);
  assert.equal(texts?.message, plain?.message);
  return plain;
}

const errorOf = (config: PlainConfig) => refusal(config) ?? assert.fail("no problem was found");

describe("bad input", () => {
  it("is told with its path, its value, the reason and what is allowed", () => {
    const line = (text: string) => text.replace(releases, "RELEASES").replaceAll("\n", " ").slice(0, 140).trimEnd();
    // Once each, without the schema's lists of keys and settings' descriptions.
    const seen = new Set<string>();
    const isNew = (message: string, allowed: string) =>
      message !== "is not a key that Fenestra knows" && !/\. [A-Z]/.test(allowed) && seen.size < seen.add(allowed).size;
    const file = path.join(import.meta.dirname, "badInput.yaml");
    const told = rows
      .parse(parse(readFileSync(file, "utf8"), { merge: true }))
      .map((row) =>
        Object.entries(row).flatMap(([cloud, changes]) =>
          (refusal(changed(cloud === "aws" ? "aws" : "azure", changes))?.problems ?? []).flatMap(
            ({ path: at, value, message, allowed }) => [
              line(`${at.replace("config.fenestra:", "")} = ${showValue(value)} ${message}`),
              ...(isNew(message, allowed) ? [line(`    allowed: ${allowed}`)] : []),
            ],
          ),
        ),
      );
    matchAnswers(file, told);
  });

  it("is told where a service account has more statements than a role holds", () => {
    const statement = { actions: ["s3:GetObject"], resources: ["arn:aws:s3:::shop/*"] };
    const account = { namespace: "shop", name: "a", statements: Array.from({ length: 120 }, () => statement) };
    assert.deepEqual(
      errorOf(changed("aws", { "access.workloadIdentity.serviceAccounts": [account] })).problems.map(
        ({ path: at, allowed }) => [at, allowed],
      ),
      [["config.fenestra:access.workloadIdentity.serviceAccounts[0].statements", "at most 10240 characters of JSON"]],
    );
  });

  it("is told where a pool's policy has no room for a list", () => {
    const of = (kind: string) => Array.from({ length: 100 }, (_, index) => `arn:aws:${kind}-${100_000 + index}`);
    const resources = of("ecr:eu-central-1:123456789012:repository/a");
    const secrets = of("secretsmanager:eu-central-1:123456789012:secret:a");
    const [web] = gmsa("aws").credentialSpecs;
    const credentialSpecs = secrets.map((secret, index) => ({ ...web, name: `a${index}`, secret }));
    const { problems } = errorOf(changed("aws", { registryAccess: { resources }, "addons.gmsa": { credentialSpecs } }));
    assert.deepEqual(
      problems.flatMap(({ path: at, message }) => (message === "is too long a list" ? [at] : [])),
      ["config.fenestra:addons.gmsa.credentialSpecs", "config.fenestra:registryAccess.resources"],
    );
  });

  it("is told where more networks may call the API than a security group takes", () => {
    const callers = (count: number) => Array.from({ length: count }, (_, at) => `11.0.${at >> 8}.${at % 256}/32`);
    for (const [cloud, most] of [
      ["aws", 999],
      ["azure", 3999],
    ] as const) {
      assert.equal(messagesOf(changed(cloud, { "access.public.allow": callers(most) })), "\n");
      assert.match(messagesOf(changed(cloud, { "access.public.allow": callers(most + 1) })), RegExp(`at most ${most}`));
    }
  });

  it("is told where pods' addresses take a group's last tag", () => {
    const labels = Object.fromEntries(Array.from({ length: 37 }, (_, index) => [`l${index}`, ""]));
    const scaled = { "pools.0.autoscale": { min: 1, max: 2 }, "pools.0.labels": labels };
    assert.equal(messagesOf(changed("azure", scaled)), "\n");
    assert.match(messagesOf(changed("azure", { ...scaled, "network.pods": "azure-cni" })), /too many labels/);
  });

  it("is told all at once, sorted, once each, as people read it", () => {
    const error = errorOf(
      changed("aws", {
        cluster: "test",
        dbPassword: "hunter2-hunter2",
        name: "My Cluster",
        "kubernetes.version": "1.29.0",
        "kubernetes.serviceCidr": "10.244.0.0/20",
        "network.nat": "none",
        "network.zones": ["eu-central-1a", "eu-central-1a", "us-east-1a"],
        "controlPlane.replicas": 2,
        "access.public": { allow: ["203.0.113.7", "198.51.100.1/24"] },
        "mirror.artifacts": "https://user:hunter2@mirror.example.com/files",
        "tags.cost": 42,
        pools: [
          { name: "windows-server-2022-pool", os: "windows-2022", autoscale: { min: 3, max: 1 }, hyperV: true },
          { name: "linux", os: "linux", labels: { "kubernetes.io/arch": "arm64", 'my "team': "x" } },
          { name: "linux", os: "Linux", size: "m7g.large" },
          { name: "p", os: "linux", image: "newest" },
        ],
      }),
    );
    assert.ok(!error.message.includes("hunter2"));
    assert.match(error.message, /^The stack configuration has 21 problems:\n\nconfig/);
    const refused = [
      "access.public.allow[0], cluster, controlPlane.replicas, dbPassword, kubernetes.serviceCidr, kubernetes.version, mirror.artifacts",
      "name, network.nat, network.zones[1], network.zones[2], pools[0].autoscale, pools[0].name, pools[0].size",
      'pools[1].labels["kubernetes.io/arch"], pools[1].labels["my \\"team"], pools[2].name, pools[2].os, pools[2].size, pools[3].image, tags.cost',
    ];
    assert.equal(
      [...error.message.matchAll(/^config\.fenestra:(.+?): /gmu)].map(([, at]) => at).join(", "),
      refused.join(", "),
    );
  });

  it("gives an empty config its missing keys and nothing else", () => {
    const told = errorOf({}).problems.map(({ path: at, message }) => [at, message]);
    assert.deepEqual(
      told,
      ["cloud", "name", "network", "pools", "region"].map((key) => [`config.fenestra:${key}`, "is missing"]),
    );
  });

  it("does not let a refused value make noise in the rules, nor hide what lies beside it", () => {
    const told = (changes: Readonly<Record<string, unknown>>) =>
      errorOf(changed("aws", changes)).problems.map(({ path: at }) => at.replace("config.fenestra:", ""));
    assert.deepEqual(told({ cloud: "gcp", "pools.0.size": "Standard_D2s_v5", "pools.0.image": "1.2.3" }), ["cloud"]);
    assert.deepEqual(told({ cloud: "gcp", "kubernetes.version": "1.2.3" }), ["cloud", "kubernetes.version"]);
    assert.deepEqual(told({ region: "", "network.cidr": "10.0.0.0/30" }), ["network.cidr", "region"]);
    assert.deepEqual(told({ "network.cidr": 5, "kubernetes.podCidr": "10.96.0.0/16" }), [
      "kubernetes.serviceCidr",
      "network.cidr",
    ]);
    assert.deepEqual(told({ "pools.0": "linux", "pools.1.image": "x" }), ["pools[0]", "pools[1].image"]);
    assert.deepEqual(told({ pools: [], "controlPlane.size": "x" }), ["controlPlane.size", "pools"]);
    assert.deepEqual(told({ "network.natt": 1, "network.nat": "none" }), ["network.nat", "network.natt"]);
    assert.deepEqual(told({ "pools.1.os": 3, "pools.1.size": "t3.micro", "pools.1.name": "linux" }), [
      "pools[1].name",
      "pools[1].os",
      "pools[1].size",
    ]);
  });

  it("names what would fix it", () => {
    const fix = (changes: Readonly<Record<string, unknown>>) => errorOf(changed("azure", changes)).problems[0]?.remedy;
    // Slips by their class, each at one setting of its kind.
    const slips: readonly (readonly [string, unknown, string | undefined])[] = [
      ["kubernetes.version", 1.37, "write 1.37.0 or 1.37.1"],
      ["kubernetes.version", "v1.37.0", "write 1.37.0"],
      ["kubernetes.version", 1.3, undefined],
      ["network.nat", true, "write single or perZone"],
      ["network.policies", false, "write none"],
      ["pools.0.perZone", "yes", "without quotes: true"],
      ["pools.0.perZone", "False", "without quotes: false"],
      ["repair.notReadyAfter", "20m", "without its unit: 20"],
      ["repair.notReadyAfter", "20s", "write a number without a unit"],
      ["repair.maxUnhealthy", "30%", "without its unit: 30"],
      ["repair", false, "write { perHour: 0 }"],
      ["pools.0.os", "ubuntu", "write linux"],
      ["pools.0.os", "Windows2022", "write windows-2022"],
      ["environment", "prod", "write production"],
      ["registryCredentials", [{ password: "x" }], "write a mapping, without the hyphens: NAME: VALUE"],
      ["pools.0.taints", { key: "a" }, "put a hyphen before each item"],
      ["network.zones", ["1", "2", "3", "4"], undefined],
      ["controlPlane.extraArgs", { apiServer: { "--v": "4" } }, "write v"],
      [
        "controlPlane.admission",
        [{ name: "PodSecurity", configuration: { defaults: { enforce: "restrictd" } } }],
        "did you mean restricted?",
      ],
      ["region", "West Europe", "write westeurope"],
      ["httpProxy", "http://proxy.test", "add its port"],
      ["network.zones", [1, 2], 'put it in quotes: "1"'],
      ["tags", { on: true }, 'put it in quotes: "true"'],
      // What every object of JavaScript has.
      ["constructor", 1, "remove it or correct its spelling"],
      ["network.zones", "1", 'put it in brackets: ["1"]'],
      ["pools.0.count", "010", "without quotes: 10"],
      ["pools.0.size", "standard_d4s_v5", "mind its capital letters"],
      ["access.public.allow", ["192.0.2.7"], "write 192.0.2.7/32"],
      ["access.public.allow", ["192.0.2.7/24"], "write 192.0.2.0/24, or write 192.0.2.7/32"],
      ["network.cidr", "10.0.0.0", undefined],
      ["access.public", true, undefined],
      ["controlPlane.backup", true, "write its keys, or for its defaults {}"],
      ["acknowledge.a", true, undefined],
      ["controlPlane.replicas", "3", "without quotes: 3"],
      ["httpProxy", "proxy.corp:3128", "write https://proxy.corp:3128, or write http://proxy.corp:3128"],
      ["name", "My Cluster", "write my-cluster"],
      ["pools.0.size", "D4s_v5", "write Standard_D4s_v5"],
      ["pools", { web: { os: "linux" } }, "write a list: - name: web"],
      ["gmsa", {}, "it is a key of addons"],
      ["pools.1.beforeJoin", "setup.ps1", undefined],
      ["pools.1.samples", true, "it is a key of addons"],
      ["pools.0.size", "Standard_L8s_v3", "state its processors and memory in capacity"],
      ["nodePools", [], "name them in pools"],
      ["pools.1.max", 3, "autoscale has min and max"],
      ["zonal", 1, "remove it or correct its spelling"],
      ["pool", [], "did you mean fenestra:pools?"],
      ["pools.1.cuont", 1, "did you mean count?"],
      ["kubernetes.serviceCidr", "10.244.0.0/20", "move one of the two"],
      ["kubernetes.version", "1.36.99", "choose one of these, or record its digests: fenestra pin 1.36.99"],
      [
        "mirror.artifacts",
        "https://user:hunter2@mirror.example.com/files",
        "pulumi config set --secret --path 'fenestra:registryCredentials[\"mirror.example.com\"].password', and the name as username",
      ],
      [
        "addons.autoscalerLimits",
        {},
        'set --max-nodes-total=9 and others as arguments of the Deployment by a transform: docs/transforms.md, "Limits of the autoscaler", has the lines',
      ],
    ];
    for (const [at, value, wanted] of slips)
      assert.equal(fix({ [at]: value }), wanted, `${at} ${JSON.stringify(value)}`);
    // A mapping's key that is none of this cloud's names is not another cloud's setting.
    const foreign = errorOf(changed("aws", { "controlPlane.generations": { "i-0123456789abcdef0": 2 } })).message;
    assert.doesNotMatch(foreign, /only AWS|nothing/);
    // What cannot be seen.
    assert.match(
      errorOf(changed("azure", { "network.zones": ["1\u200b"] })).message,
      /"1<U\+200B>"\n.*\n.*anew: it has U\+200B$/m,
    );
    assert.equal(
      fix({ "kubernetes.version": "1.30.0" }),
      "choose one of these: this release of Fenestra has no other minor. A cluster of an older one is taken on by the release that made it, a minor at a time",
    );
    assert.equal(
      fix({ "pools.1.hyperV": true, "pools.1.size": "Standard_B2ms" }),
      undefined,
      "what is allowed says it already",
    );
    assert.equal(
      errorOf(changed("aws", { "pools.1.hyperV": true })).problems[0]?.remedy,
      "state a size; m7i.large is the default",
    );
    assert.equal(
      errorOf(changed("aws", { "network.nat": "none" })).problems[0]?.remedy,
      "set fenestra:httpProxy or fenestra:mirror, or choose another nat",
    );
  });
});

describe("a problem's text", () => {
  it("has no secret in it, whatever is written in the place of one, or around it", () => {
    const marker = "hunter2-marker";
    const under = (key: string): readonly unknown[] => [
      marker,
      12_345_678_901,
      [marker],
      { x: marker },
      { password: marker },
      [{ [key]: marker, name: "" }],
      `Bearer ${marker}`,
      `{"${key}": "${marker}"`,
    ];
    const told = (cloud: "aws" | "azure", path: string, value: unknown) =>
      assert.doesNotMatch(
        messagesOf(changed(cloud, { [path]: value })),
        /hunter2-marker|12345678901/,
        `${cloud} ${path}`,
      );
    for (const cloud of ["aws", "azure"] as const) {
      const secrets = leavesOf(configJsonSchema(schemaOf(cloud)))
        .map(([at]) => at.replaceAll("[]", ".0").replaceAll("*", "host"))
        .filter((at) => hidesValue(`config.fenestra:${at}`));
      assert.ok(secrets.includes("proxyCredentials.password") && secrets.length > 5, secrets.join(" "));
      for (const path of secrets) {
        for (const value of under(path.split(".").at(-1) ?? "")) told(cloud, path, value);
      }
      for (const path of ["addons.logs.otlp.headers.0.value", "secretsEncryption.keys.0.secret", "fooToken.x.secret"])
        for (const value of under("value")) told(cloud, path, value);
      for (const value of under("value")) told(cloud, "addons.logs", { otlp: { headers: value } });
    }
  });

  it("proposes what is accepted, at any setting", () => {
    const texts = [
      "3",
      "Yes",
      "My_Name",
      "10.0.0.1",
      "172.20.1.1/16",
      "proxy.corp:80",
      "http://a.example",
      "D4s_v5",
      "7d",
    ];
    const told = (cloud: Cloud, at: string, given: unknown) =>
      refusalOf(() => validate(changed(cloud, { [at]: given }), lock))?.problems ?? [];
    const proposal = /(\w+ quotes:|in brackets:|its unit:|defaults|write) (\S+?)(?=, or |$)/g;
    const forms = new Map<string, readonly [Cloud, string]>();
    for (const cloud of ["azure", "aws"] as const)
      for (const [leaf, { description, ...form }] of leavesOf(configJsonSchema(schemaOf(cloud)))) {
        const at = leaf.replaceAll("[]", ".0").replaceAll("*", "host");
        forms.set(JSON.stringify(form), [cloud, at]);
        forms.set(at.replace(/\.[^.]+$/, ""), [cloud, at.replace(/\.[^.]+$/, "")]);
      }
    const ways = new Set<string | undefined>();
    for (const [cloud, at] of forms.values())
      for (const value of [...texts, 3, true, false])
        for (const { path: where, remedy = "" } of told(cloud, at, value).filter((each) => each.value === value))
          for (const [, way, cure = ""] of remedy.matchAll(proposal)) {
            ways.add(way);
            // Rules that want more have a way of their own.
            const again = told(cloud, at, parse(cure)).filter(
              (each) => each.path === where && each.remedy === undefined,
            );
            assert.deepEqual(again, [], `${cloud} ${at} ${JSON.stringify(value)}: ${remedy}`);
          }
    assert.equal(ways.size, 6);
  });

  it("has nothing in it that looks like a key or a token, at any setting, depth or whole object, and has names", () => {
    const keys = ["c2VjcmV0c2VjcmV0MTIzc2VjcmV0QUJD", "fedcba9876543210fedcba9876543210"];
    const texts = [...keys, ...["Bearer x7", "sk-x7", "ghp_x7"].map((text) => `${text}${keys[1]}`)];
    const shown = new RegExp(keys.join("|"));
    const said = (config: PlainConfig) => String(refusalOf(() => validate(config, lock)));
    for (const cloud of ["aws", "azure"] as const) {
      const paths = leavesOf(configJsonSchema(schemaOf(cloud))).map(([at]) =>
        at.replaceAll("[]", ".0").replaceAll("*", "host"),
      );
      assert.ok(paths.length > 130);
      for (const at of new Set([...paths, ...paths.map((each) => each.replace(/\.[^.]+$/, ""))]))
        for (const value of [texts.join(" "), { a: [{ b: texts[0], c: { d: texts[1] } }] }])
          assert.doesNotMatch(said(changed(cloud, { [at]: value })), shown, `${cloud} ${at}`);
    }
    const found = (changes: Readonly<Record<string, unknown>>) => messagesOf(changed("azure", changes));
    // Nor what would be proposed in its place.
    assert.doesNotMatch(
      found({ "addons.smb": { shares: [{ name: "a", source: "//a.b/c", secret: "Shop/Hunter2" }] } }),
      /unter2/,
    );
    assert.doesNotMatch(found({ name: "AKIAIOSFODNN7EXAMPLE" }), /iosfodnn/i);
    assert.match(found({ "addons.smb": { shares: [{ secret: "shop/smb" }] } }), /found: {3}"shop\/smb"/);
    const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
    assert.match(found({ "pools.0.image": digest }), new RegExp(digest.slice(0, 40)));
  });
});
