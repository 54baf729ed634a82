import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { validate } from "../../components/config/load.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { exampleProblems } from "../../components/model/exampleValues.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { type FindingInput, findingRules, findings as findingsOf, reaches } from "../../plan/report/findings.ts";
import { Recording } from "../support/planOf.ts";
import { exampleSpec } from "../support/stacks.ts";
import { cases, image, key, machine, production, zones } from "./findingCases.ts";

const lock = readArtifactLock();
const program: RecordedProgram = { stack: "s", resources: [], outputs: {}, messages: [] };

function input(config: Readonly<Record<string, unknown>> = {}, more: Partial<FindingInput> = {}): FindingInput {
  const spec = clusterSpec(
    validate(
      {
        cloud: "aws",
        name: "test",
        region: "eu-central-1",
        accountId: "123456789012",
        network: { zones, nat: "perZone" },
        controlPlane: { replicas: 3, image },
        pools: [{ name: "linux", os: "linux", image }],
        access: { public: { allow: ["100.64.7.0/24"] } },
        ...config,
      },
      lock,
    ),
  );
  return { spec, program, machines: [], leaks: [], asOf: undefined, encrypted: [], ...more };
}

/** How often these tests found each finding. */
const seen = new Map<string, number>();
let looked = 0;

function findings(given: FindingInput): ReturnType<typeof findingsOf> {
  const all = findingsOf(given);
  looked += 1;
  for (const id of new Set(all.map((each) => each.id))) seen.set(id, (seen.get(id) ?? 0) + 1);
  return all;
}

/** What is found, without what all stacks, all on Azure, or all with Windows on AWS have. */
const found = (given: FindingInput) =>
  findings(given).flatMap(({ level, id, path }) =>
    ["api-retires", "known-vulnerability", "pinned-windows-image", "release-behind"].includes(id)
      ? []
      : [`${level} ${id} ${path}`],
  );
describe("findings", () => {
  after("each is seen in one of these tests, and is away in another", () => {
    assert.deepEqual(
      [...Object.keys(findingRules), "acknowledged-nothing"].filter((id) => !seen.has(id) || seen.get(id) === looked),
      [],
      "cases that findingCases.ts lacks",
    );
  });

  it("are none for a careful stack", () => {
    assert.deepEqual(found(input(production)), []);
    assert.deepEqual(found(input()), []);
  });

  it("name what a transform touches of what is relied on", () => {
    const messages = [
      { severity: "warning", text: "a transform changes minSize of t n: a gate waits", urn: undefined },
      { severity: "warning", text: "something else", urn: undefined },
    ] as const;
    assert.deepEqual(found(input({}, { program: { ...program, messages } })), [
      "warning transform-of-what-is-relied-on t n",
    ]);
  });

  it("name encrypted values, and a disk in clear", () => {
    const recording = new Recording({ region: "eu-central-1", accountId: "123456789012" });
    for (const encrypted of [true, false]) recording.add("aws:ebs/volume:Volume", `${encrypted}`, { encrypted });
    assert.deepEqual(
      found(input({}, { encrypted: ["fenestra:region"], program: recording.program() })).filter((each) =>
        each.includes("encrypted"),
      ),
      ["error disk-not-encrypted false", `note encrypted-value ${key("region")}`],
    );
  });

  it("warn of bodies of Secrets in a sent audit log, and of a login", () => {
    const addons = { logs: { otlp: { endpoint: "https://otlp.test/v1/logs" } } };
    const sent = (...rules: readonly object[]) =>
      found(input({ addons, controlPlane: { replicas: 3, image, auditPolicy: { rules } } })).filter((text) =>
        text.includes("sent-logs"),
      );
    const secrets = [{ resources: ["secrets"] }];
    const warned = [`warning secrets-in-sent-logs ${key("controlPlane.auditPolicy")}`];
    assert.deepEqual(sent({ level: "Request" }), warned);
    assert.deepEqual(sent({ level: "None", resources: secrets, users: ["a"] }, { level: "RequestResponse" }), warned);
    assert.deepEqual(sent({ level: "Metadata", resources: secrets }, { level: "RequestResponse" }), []);
    assert.deepEqual(sent({ level: "Request", resources: [{ group: "apps" }] }, { level: "Metadata" }), []);
    assert.ok(
      found(
        input({ addons, httpProxy: "http://proxy.test:1", proxyCredentials: { username: "u", password: "p" } }),
      ).includes(`warning logs-behind-a-login ${key("addons.logs")}`),
    );
  });

  it("name what is a value of documentation", () => {
    const given = input({
      access: { public: { allow: ["100.64.7.0/24", "203.0.113.7/32", "198.51.100.0/24"] } },
      controlPlane: { replicas: 3, image: "ami-0123456789abcdef0" },
      pools: [{ name: "linux", os: "linux", image: "ami-0123456789abcd019", perZone: true, count: 3 }],
      mirror: { artifacts: "https://mirror.example.com/files", registries: { "quay.io": "https://quay.corp.test" } },
      httpProxy: "http://proxy.example:3128",
    });
    assert.deepEqual(
      exampleProblems(given.spec)
        .map(({ path, value }) => [path, value])
        .toSorted(),
      [
        [key("access.public.allow"), "198.51.100.0/24"],
        [key("access.public.allow"), "203.0.113.7/32"],
        [key("controlPlane.image"), "ami-0123456789abcdef0"],
        [key("httpProxy"), "http://proxy.example:3128"],
        [key("mirror.artifacts"), "https://mirror.example.com/files"],
        [key("pools[0].image"), "ami-0123456789abcd019"],
      ],
    );
  });

  for (const [config, expected, more] of cases)
    it(`say ${expected[0] ?? `nothing of ${JSON.stringify([config, more])}`} and nothing else`, () => {
      assert.deepEqual(
        found(input(config, more)).map((line) => line.replace(key(""), "")),
        expected,
      );
    });

  it("tell of Key Vault's end on Azure, from that day as an error, as long as the provider calls a version that ends", () => {
    const versions = ["vault", "secret", "key"].map((name) => {
      const file = new URL(`../../node_modules/@pulumi/azure-native/keyvault/${name}.d.ts`, import.meta.url);
      return /Uses Azure REST API version (\d{4}-\d\d-\d\d)/.exec(readFileSync(file, "utf8"))?.[1] ?? assert.fail(name);
    });
    const ends = versions.some((version) => version < "2026-02-01");
    assert.ok(
      !ends || new Date() < new Date("2027-01-27"),
      "docs/adr/0007-azure-api-versions.md: take a provider that calls a version that stays",
    );
    const told = (stack: "aws-dev" | "azure-dev", asOf: string | undefined) =>
      findings({ ...input({}, { asOf }), spec: exampleSpec(stack) }).flatMap(({ id, level }) =>
        id === "api-retires" ? [level] : [],
      );
    assert.deepEqual(told("aws-dev", "2027-03-01"), []);
    for (const [asOf, level] of [
      [undefined, "warning"],
      ["2027-02-26", "warning"],
      ["2027-02-27", "error"],
    ] as const)
      assert.deepEqual(
        told("azure-dev", asOf),
        ends ? [level] : [],
        `${versions}: take the row out of cloudFacts/azure.ts, and docs/azure.md`,
      );
  });

  it("tell of registries that machines without a way out need", () => {
    const recording = new Recording({ region: "eu-central-1", accountId: "123456789012" });
    const container = (image: string): object => ({
      spec: { template: { spec: { containers: [{ name: "a", image }] } } },
    });
    for (const [at, image] of ["registry.k8s.io/a:1", "mcr.microsoft.com/b:2", "quay.io/c:3", "quay.io/d:4"].entries())
      recording.add("kubernetes:apps/v1:Deployment", `d${at}`, { metadata: { name: `d${at}` }, ...container(image) });
    const registries = { "registry.k8s.io": "https://mirror.example.com/k8s" };
    const reach = (nat: string, more: object = {}) =>
      findings(
        input(
          { network: { zones, nat }, mirror: { artifacts: "https://mirror.example.com/files", registries }, ...more },
          { program: recording.program() },
        ),
      ).flatMap(({ id, level, message }) => (id === "registry-out-of-reach" ? [`${level} ${message}`] : []));
    assert.deepEqual(reach("none"), [
      "error Nodes pull images from mcr.microsoft.com, but there is no NAT gateway, no proxy and no mirror of it.",
      "error Nodes pull images from quay.io, but there is no NAT gateway, no proxy and no mirror of it.",
    ]);
    assert.deepEqual(reach("perZone"), []);
    assert.deepEqual(reach("none", { httpProxy: "http://proxy.example.com:3128" }), []);
    assert.deepEqual(
      reach("none", {
        mirror: {
          artifacts: "https://mirror.example.com/files",
          registries: { _default: "https://mirror.example.com" },
        },
      }),
      [],
    );
  });

  it("that the stack file accepts stay, with the reason, and fail nothing; other reasons are found", () => {
    const reason = "Clients are all over the world.";
    const given = input({
      access: { public: { allow: ["0.0.0.0/0"] } },
      acknowledge: {
        "public-api-open": reason,
        "image-latst": reason,
        "secret-in-the-open": reason,
        "fewer-machines": reason,
      },
    });
    const all = findings({ ...given, leaks: [{ resource: "r", path: "p", what: "a secret" }] });
    assert.deepEqual(
      all.flatMap(({ id, acknowledged }) => (id === "known-vulnerability" ? [] : [[id, acknowledged]])),
      [
        ["public-api-open", reason],
        ["secret-in-the-open", null],
        ["acknowledged-nothing", null],
        ["acknowledged-nothing", null],
      ],
    );
    assert.ok(!reaches(findings(given), "error") && reaches(all, "error"));
  });

  it("name what is fetched without a digest, an error in production", () => {
    const programs = lock.filter(
      ({ name, version }) => version === "1.36.4" && ["kubelet.exe", "kube-log-runner.exe"].includes(name),
    );
    const files = [{ path: "", content: programs.map(({ url }) => url).join(" "), mode: null, bytes: 0, sha256: "" }];
    const given = { machines: [{ ...machine(0), files }] };
    assert.deepEqual(found(input({}, given)), ["note unconfirmed-artifact kube-log-runner.exe 1.36.4"]);
    assert.deepEqual(found(input(production, given)), ["error unconfirmed-artifact kube-log-runner.exe 1.36.4"]);
    assert.deepEqual(found(input({ mirror: { artifacts: "https://mirror.test/files" } }, given)), []);
  });

  it("name what is known against each program in one finding, in production an error unless all is accepted by name", () => {
    const pools = [
      { name: "linux", os: "linux", image },
      { name: "win", os: "windows-2022", image },
    ];
    const weak = (config: object, more: Partial<FindingInput> = {}) =>
      findings(input({ pools, ...config }, more)).filter(({ id }) => id === "known-vulnerability");
    const shown = (config: object) =>
      weak(config).map(({ level, path, message }) => `${level} ${path} ${message.match(/(CVE|GHSA)-\S+(?=: )/g)}`);
    const windows = "containerd 2.3.4 CVE-2026-53493,GHSA-rp3h-jf77-q9p4";
    const old = { kubernetes: { version: "1.36.4" } };
    const release = `${key("kubernetes.version")} CVE-2026-2270`;
    assert.deepEqual(shown({}), [`warning ${windows}`]);
    assert.deepEqual(shown({ pools: pools.slice(0, 1) }), [], "what a new stack gets");
    assert.deepEqual(shown({ ...production, ...old }), [`error ${release},CVE-2026-76654`, `error ${windows}`]);
    assert.deepEqual(shown({ ...old, pools: pools.slice(0, 1) }), [`warning ${release}`]);
    const reason = "no fix has a digest";
    const acknowledge = { "CVE-2026-2270": reason, "known-vulnerability": reason };
    assert.deepEqual(
      weak({ ...production, ...old, acknowledge }).map(({ acknowledged, message }) => [
        acknowledged,
        message.match(/(CVE|GHSA)-\S+(?=: )/g)?.length,
      ]),
      [
        [reason, 1],
        [null, 1],
        [null, 2],
      ],
    );
    assert.deepEqual(
      findings(input({ ...old, acknowledge })).flatMap(({ id, message }) =>
        id === "acknowledged-nothing" ? [message] : [],
      ),
      ["The finding known-vulnerability cannot be accepted."],
    );
  });

  it("say that a release of Kubernetes is old by a day, or that the lock file has a newer one", () => {
    const behind = (version: string, asOf?: string) =>
      findings(input({ kubernetes: { version }, ...production }, { asOf })).flatMap(({ id, level, message }) =>
        id === "release-behind" ? [`${level} ${message}`] : [],
      );
    assert.deepEqual(behind("1.36.4"), []);
    assert.deepEqual(behind("1.36.4", "2026-10-19"), []);
    assert.deepEqual(behind("1.36.4", "2026-10-20"), ["warning Kubernetes 1.36.4 is of 2026-08-20, 61 days old."]);
    assert.deepEqual(behind("1.36.3"), ["warning Kubernetes 1.36.4 follows 1.36.3."]);
  });
});
