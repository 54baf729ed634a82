import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { type PropertyMap, Secret } from "../../components/gates/values.ts";
import { decodeUserData, startedScript } from "../../plan/decode/userData.ts";
import { readBasePlan } from "../../plan/diff/base.ts";
import { diffPlans } from "../../plan/diff/compare.ts";
import { simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { Plan } from "../../plan/plan.ts";
import { secretsInUserData } from "../../plan/program/leaks.ts";
import { holdersInWords, reaches, stores } from "../../plan/report/access.ts";
import { mermaid, planFiles, planMarkdown, relativePath } from "../../plan/report/markdown.ts";
import { planSummary } from "../../plan/report/summary.ts";
import { bareMachine, barePlan, barePool, planOf, requestFor } from "../support/planOf.ts";
import { configTexts, stackConfig } from "../support/stacks.ts";

const hostile = `<script>alert("x")</script>`;
const advisory = "https://github.com/containerd/containerd/security/advisories/GHSA-rp3h-jf77-q9p4";
const plan = barePlan({
  network: {
    ...{ cidr: "10.0.0.0/16", nat: "single", podCidr: "", serviceCidr: "", publicAccess: ["203.0.113.0/24"] },
    zones: [{ zone: "r-a", private: "10.0.1.0/24", public: null, controlPlane: "10.0.2.0/24" }],
  },
  controlPlane: {
    ...{ ...barePlan().controlPlane, size: "m7i.large" },
    members: [
      { etcdName: "cp-0", zone: "r-a", address: "10.0.0.10" },
      { etcdName: "cp-1", zone: "r-a", address: "10.0.0.11", size: "m7i.xlarge" },
    ],
  },
  pools: [barePool("w", { count: 3 })],
  machines: [
    bareMachine(hostile, { files: [{ path: "/a", mode: null, bytes: 1, sha256: "0".repeat(64), content: "" }] }),
  ],
  findings: [
    { acknowledged: null, id: "f", level: "warning", path: "p", message: `M (${advisory}).`, remedy: "R." },
    { acknowledged: "known", id: "g", level: "note", path: "p|q", message: "N.", remedy: "R." },
  ],
});

/** The cells of the table under a heading or a folded title. */
function rowsUnder(markdown: string, title: string): readonly (readonly string[])[] {
  const [, rest = ""] = markdown.split(title);
  const [table = ""] = /(?:^\|.*\n)+/m.exec(rest) ?? [];
  return table
    .trimEnd()
    .split("\n")
    .slice(2)
    .map((line) => line.slice(2, -2).split(" | "));
}

const storesInWords = (real: Plan) =>
  stores(real).map(({ title, readers, writers }) => [
    title,
    holdersInWords(real, readers),
    holdersInWords(real, writers),
  ]);

describe("the Markdown of a plan", () => {
  it("has the findings first, advisories as links, then the topology as Mermaid", () => {
    const markdown = planMarkdown(plan);
    assert.equal((/^## .*/m.exec(markdown) ?? [])[0], "## Findings");
    assert.deepEqual(rowsUnder(markdown, "## Findings"), [
      ["warning", "`f`", "`p`", `M ([GHSA-rp3h-jf77-q9p4](${advisory})).`, "R."],
      ["accepted note", "`g`", "`p\\|q`", "N.", "Accepted: known"],
    ]);
    assert.deepEqual(planSummary(plan).split("\n").slice(-5, -1), [
      "1 finding: 0 errors, 1 warning, 0 notes",
      "  ! f at p",
      `      M (${advisory}). R.`,
      "  accepted: g at p|q: known",
    ]);
    assert.deepEqual(mermaid(plan), [
      "flowchart LR",
      "  nodeApi([internal load balancer :6443])",
      '  internet(("203.0.113.0/24")) --> publicApi([public load balancer :6443])',
      '  subgraph zone0["r-a"]',
      '    cp_0["cp-0 10.0.0.10, m7i.large"]',
      '    cp_1["cp-1 10.0.0.11, m7i.xlarge"]',
      "  end",
      "  nodeApi --> cp_0",
      "  publicApi --> cp_0",
      "  nodeApi --> cp_1",
      "  publicApi --> cp_1",
      '  pool_w[["w: 3 x , linux"]] --> nodeApi',
    ]);
    assert.ok(!markdown.includes(`Files of ${hostile}`) && markdown.includes("Files of &lt;script&gt;"));
  });

  it("says before and after, where there is a before", () => {
    assert.doesNotMatch(planMarkdown(plan), /Before and after/);
    const base = readBasePlan(JSON.stringify({ ...plan, findings: plan.findings.slice(1) }));
    assert.ok(typeof base !== "string");
    const [{ path, content } = assert.fail()] = planFiles(plan, diffPlans(base, plan));
    assert.equal(path, "plan.md");
    assert.match(content, /\n## Before and after\n\n~+diff\n(?:.*\n)*?.*f at p: M(?:.*\n)*?~+\n\n## Topology\n/);
  });

  it("says who may reach, read and write what, on both clouds", async () => {
    const real = await planOf("aws-dev", stackConfig("aws-dev"));
    assert.deepEqual(storesInWords(real), [
      ...["linux", "win2019", "win2022"].map((pool) => [
        `Parameter: join of ${pool}`,
        `control plane, ${pool}`,
        "control plane",
      ]),
      ["Parameter Store: 5 secrets", "control plane", "nobody"],
      ["Parameter: initialised", "control plane", "control plane"],
      ["Parameter: join", "control plane, all pools", "control plane"],
      ["Bucket: scripts", "control plane, all pools", "nobody"],
      ["Bucket: snapshots", "control plane", "control plane"],
    ]);
    assert.deepEqual(
      reaches(real)
        .filter(({ to }) => to === "public load balancer")
        .map(({ from, ports }) => [from, ports]),
      [["203.0.113.0/24", "TCP 6443"]],
    );
    const azure = await planOf("azure-dev", stackConfig("azure-dev"));
    assert.deepEqual(storesInWords(azure).slice(3), [
      ["Key Vault: 5 secrets", "control plane", "nobody"],
      // One is the join secret of the release before.
      ["Key Vault: 2 secrets", "control plane", "control plane"],
      ["Storage: snapshots", "control plane", "control plane"],
    ]);
    assert.equal(reaches(azure).length, 13);
  });

  it("says of spot machines what is billed by time", async () => {
    const spot = { name: "w", os: "windows-2022", count: 2, spot: true };
    const { billed } = await planOf("azure-dev", { ...stackConfig("azure-dev"), ...configTexts({ pools: [spot] }) });
    assert.equal(billed["machine, Standard_D2s_v5, with a Windows licence, spot"], 2);
    assert.equal(billed["disk, 128 GiB Premium_LRS"], 2);
  });
});

describe("the paths of a plan's folder", () => {
  it("lie inside it, whatever a machine calls its files", () => {
    assert.equal(relativePath("/etc/kubernetes/kubeadm.yaml"), "etc/kubernetes/kubeadm.yaml");
    assert.equal(relativePath("C:\\fenestra\\run.ps1"), "C/fenestra/run.ps1");
    assert.equal(relativePath("/../../etc/passwd"), "etc/passwd");
    assert.equal(relativePath("..\\..\\x"), "x");
  });
});

/** What is found in a text of a machine's user data, beside a stack with these outputs. */
function found(text: string, outputs: PropertyMap = {}) {
  const resources = [
    { ...requestFor("a:b:C", "machine", { userData: text, list: [{ inner: text }] }), urn: "m", id: "x", outputs: {} },
    { ...requestFor("pulumi:pulumi:Stack", "s", {}), urn: "u", id: undefined, outputs },
  ];
  return secretsInUserData({ stack: "test", outputs: {}, messages: [], resources });
}
const told = (what: string) => ["userData", "list[0].inner"].map((path) => ({ resource: "machine", path, what }));

describe("user data that no machine could read", () => {
  const packed = (text: string) => `$p='${gzipSync(text).toString("base64")}'\n`;
  for (const [text, says] of [
    ["#cloud-config\nwrite_files: 1\n", /write_files/],
    [packed("{}") + packed("{}"), /more than one archive/],
    ["$p='AAAA'\n", /its archive is damaged/],
  ] as const)
    it(`is told: ${says.source}`, () => assert.throws(() => decodeUserData(Buffer.from(text)), says));

  const copied = "copy /y C:\\AzureData\\CustomData.bin C:\\a";
  for (const [command, says] of [
    ['echo "a"', /that cmd changes/],
    [`${copied}.ps1 && powershell -File C:\\b.ps1`, /and runs C:\\b\.ps1/],
  ] as const)
    it(`of Azure is told: ${says.source}`, () => assert.throws(() => startedScript(command), says));
});

describe("the search for secrets", () => {
  it("finds a secret packed into user data, and does not print it", () => {
    const token = "Aq7rTz0Lm3Xw9Kb2Vd5Ng8Ys";
    const text = `#cloud-config\nwrite_files:\n- content: "${token} and more text to make it long enough"\n`;
    const leaks = found(gzipSync(text).toString("base64"), { token: new Secret(token) });
    assert.deepEqual(leaks, told("the secret of s"));
    assert.ok(!JSON.stringify(leaks).includes(token));
  });

  it("does not take settings for secrets because one of them is", () => {
    const outputs = { config: new Secret({ region: "eu-central-1-long" }), other: new Secret("a-secret-of-the-stack") };
    assert.deepEqual(found("eu-central-1-long, a-secret-of-the-stack", outputs), told("the secret of s"));
    assert.deepEqual(found("eu-central-1-long", outputs), []);
  });

  for (const [what, text] of [
    ["a private key", "x\n-----BEGIN EC PRIVATE KEY-----\nMHcC\n"],
    ["a private key", "-----BEGIN PRIVATE KEY-----"],
    ["a private key", "-----BEGIN ENCRYPTED PRIVATE KEY-----"],
    ["a bootstrap token", "token: abc123.0123456789abcdef"],
    ["an AWS access key", "AKIAIOSFODNN7EXAMPLE"],
  ] as const)
    it(`knows ${what} by its form: ${JSON.stringify(text.slice(0, 30))}`, () =>
      assert.deepEqual(found(text), told(what)));
});

describe("the clouds of a plan", () => {
  const policy = (actions: string) => ({ policy: JSON.stringify({ Statement: [{ Action: actions }] }) });
  const open = { policy: '{"Statement":[{"Effect":"Allow","Principal":"*"}]}' };
  const grant = { principalId: "p", roleDefinitionId: "r" };
  const place = { region: "eu-central-1", accountId: "00000000-0000-4000-8000-000000000000" };

  for (const [said, type, ...all] of [
    [
      "0: expression",
      "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy",
      { metadata: { name: "0" }, spec: { variables: [{ expression: "x".repeat(100_001) }] } },
    ],
    ["LimitExceeded", "aws:iam/rolePolicy:RolePolicy", policy("x".repeat(10_240))],
    ["AccessDenied", "aws:s3/bucketPolicy:BucketPolicy", open],
    ["RoleAssignmentExists", "azure-native:authorization:RoleAssignment", grant, { ...grant, principalId: "P" }],
    ["ConflictError", "azure-native:keyvault:Secret", { vaultName: "v" }, { vaultName: "v" }],
    ["NotFound", "azure-native:network:NetworkInterface", {}],
  ] as const)
    it(`refuse as theirs do: ${said}`, () => {
      const cloud = simulatedCloud(place, "fake");
      assert.throws(
        () => all.map((inputs, index) => cloud({ ...requestFor(type, `${index}`, inputs), parent: "p" })),
        new RegExp(`^Error: ${said}`),
      );
    });
});
