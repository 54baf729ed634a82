import assert from "node:assert/strict";
import { Script } from "node:vm";
import { readBasePlan } from "../../plan/diff/base.ts";
import { diffPlans } from "../../plan/diff/compare.ts";
import type { Plan } from "../../plan/plan.ts";
import { relativePath } from "../../plan/report/files.ts";
import { mermaid, planMarkdown } from "../../plan/report/markdown.ts";
import { edge, holdersInWords, reaches, stores } from "../../plan/report/page/access.ts";
import { pageScript, planHtml } from "../../plan/report/page/html.ts";
import { picture } from "../../plan/report/page/picture.ts";
import { figures } from "../../plan/report/page/sections.ts";
import { bareMachine, barePlan, barePool, bareResource, planOf } from "../support/planOf.ts";
import { configTexts, stackConfig } from "../support/stacks.ts";

const hostile = `<script>alert("x")</script>`;
const plan = barePlan({
  network: {
    ...{ cidr: "10.0.0.0/16", nat: "single", podCidr: "", serviceCidr: "", publicAccess: ["203.0.113.0/24"] },
    zones: [{ zone: "r-a", private: "", public: "", controlPlane: "" }],
  },
  controlPlane: { ...barePlan().controlPlane, members: [{ etcdName: "cp-0", zone: "r-a", address: "10.0.0.10" }] },
  machines: [
    bareMachine("m", {
      image: hostile,
      zones: ["r-a"],
      files: [
        { path: "/run.sh", mode: "0755", bytes: 1, sha256: "0".repeat(64), content: `echo '${hostile}' # ${hostile}` },
      ],
    }),
  ],
  resources: [bareResource(hostile, { a: hostile })],
  findings: [{ acknowledged: null, id: "f", level: "note", path: hostile, message: "M.", remedy: "R." }],
});

const pool = barePool(hostile, {
  ...{
    size: hostile,
    vcpus: 4,
    memoryGib: 16,
    zones: ["r-a"],
    count: 3,
    autoscale: { min: 1, max: 5 },
    image: hostile,
    spot: true,
  },
  ...{ labels: { [hostile]: hostile }, taints: [hostile], runtimeClass: hostile },
});

describe("the page of a plan", () => {
  it("needs nothing from elsewhere and runs no text", () => {
    const html = planHtml({ ...plan, pools: [pool] });
    assert.equal(html.match(/<script>/g)?.length, 1);
    assert.ok(!html.includes(hostile));
    assert.doesNotMatch(html, /(src|href)="(https?:)?\/\//);
    assert.match(html, /Content-Security-Policy" content="default-src 'none'/);
  });

  it("shows before and after, where there is a before", () => {
    assert.ok(!planHtml(plan).includes('id="changes"'));
    const now = { ...plan, pools: [pool] };
    const before = { ...now, pools: [{ ...pool, count: 1 }], findings: [] };
    const base = readBasePlan(JSON.stringify(before));
    assert.ok(typeof base !== "string");
    const html = planHtml(now, { base, diff: diffPlans(base, now) });
    assert.ok(!html.includes(hostile));
    assert.match(html, /<dt>Machines<\/dt><dd><b class="figure">4<\/b><span class="was">before: 2<\/span>/);
    assert.match(html, /The picture before/);
    assert.match(html, /Findings: 1 new or gone/);
    const going = barePool("going");
    const [old, less] = [
      { ...before, pools: [...before.pools, going], billed: { "disk, 9 GiB x": 4 }, settings: { a: 1 } },
      { ...now, billed: { "disk, 9 GiB x": 6 }, settings: { b: 1 } },
    ];
    const fuller = readBasePlan(JSON.stringify(old));
    assert.ok(typeof fuller !== "string");
    const page = planHtml(less, { base: fuller, diff: diffPlans(fuller, less) });
    assert.match(page, />disk, 9 GiB x<\/th><td[^>]*>4<\/td><td[^>]*><b class="warning">6<\/b>/);
    assert.match(page, /class="error"><code>- a: 1 -&gt; nothing<\/code>.*class="note"><code>\+ b: nothing -&gt; 1/s);
    assert.match(page.slice(page.indexOf('id="picture"'), page.indexOf('id="pools"')), /going/);
    // A plan of an older version has the comparison, if not every figure.
    const older = readBasePlan(JSON.stringify({ ...before, pools: undefined }));
    assert.ok(typeof older !== "string");
    const partly = planHtml(now, { base: older, diff: diffPlans(older, now) });
    assert.match(partly, /id="changes"/);
    assert.doesNotMatch(partly, /class="was"|The picture before/);
  });

  it("has a script that is JavaScript", () => {
    assert.doesNotThrow(() => new Script(pageScript));
    assert.throws(() => new Script(`${pageScript} (`), SyntaxError);
  });
});

describe("the picture of a plan", () => {
  const boxes = (real: Plan, marks: ReadonlyMap<string, string> = new Map()): readonly string[] =>
    [...picture(real, marks).matchAll(/<div class="box [^"]*">(.*?)<\/div>/g)].map(([, words = ""]) =>
      words
        .replaceAll(/<\/?(b|span)[^>]*>/g, ";")
        .replaceAll(/;+/g, "; ")
        .slice(2, -2),
    );

  it("shows what is there: balancers, gateways, stores and who may use them", async () => {
    const real = await planOf("aws-dev", stackConfig("aws-dev"));
    const shown = boxes(real, new Map([["win2019", "is replaced"]]));
    const secrets = "encryption-key, etcd-ca, front-proxy-ca, kubernetes-ca, service-account";
    assert.deepEqual(shown, [
      "Allowed networks; 203.0.113.0/24",
      "Public load balancer, TCP 6443",
      "NAT gateway",
      "cp-0; 10.0.224.10; m7i.large; etcd disk 20 GiB",
      "Internal load balancer, TCP 6443",
      "linux; 2 × m7i.large; linux; zones a, b",
      "win2019; 2 × m7i.large; windows-2019; zones a, b; is replaced",
      "win2022; 2 × m7i.large; windows-2022; zones a, b",
      "Internet; downloads and images; reached privately: s3",
      ...["linux", "win2019", "win2022"].map(
        (pool) => `Parameter: join of ${pool}; read: control plane, ${pool}; write: control plane`,
      ),
      `Parameter Store: 5 secrets; ${secrets}; read: control plane`,
      "Parameter: initialised; read: control plane; write: control plane",
      "Parameter: join; read: control plane, all pools; write: control plane",
      "Bucket: scripts; read: control plane, all pools",
      "Bucket: snapshots; read: control plane; write: control plane",
    ]);
    const rules = reaches(real);
    assert.equal(rules.length, 19);
    assert.deepEqual(rules[0], {
      from: "control plane",
      to: "control plane",
      ports: "TCP 6443",
      purpose: "Control-plane pods to the API by the address of its Service",
    });
    const open = rules.filter(({ to }) => to === "public load balancer").map(({ from, ports }) => [from, ports]);
    assert.deepEqual(open, [["203.0.113.0/24", "TCP 6443"]]);
    const numbers = figures(real).map(({ name, value }) => [name, value]);
    assert.deepEqual(numbers, [
      ["Machines", "7"],
      ["vCPUs", "14"],
      ["Memory", "56 GiB"],
      ["Zones", "2"],
      ["Errors / warnings", "0 / 3"],
    ]);
    assert.deepEqual(real.billed, {
      "NAT gateway": 1,
      "disk, 120 GiB gp3, 400 MiB/s, 200 MiB/s of initialization": 4,
      "disk, 20 GiB gp3": 1,
      "disk, 50 GiB gp3": 3,
      key: 1,
      "load balancer": 2,
      "machine, m7i.large": 3,
      "machine, m7i.large, with a Windows licence": 4,
      "public address": 3,
    });
  });

  for (const stack of ["aws-existing", "azure-prod"])
    it(`has every pool and member of ${stack}`, async () => {
      const real = await planOf(stack, stackConfig(stack));
      const drawn = boxes(real).map((words) => words.split("; ")[0]);
      const expected = [
        ...real.pools.map(({ name }) => name),
        ...real.controlPlane.members.map(({ etcdName }) => etcdName),
      ];
      const missing = expected.filter((name) => drawn.filter((each) => each === name).length !== 1);
      assert.deepEqual(missing, []);
    });

  it("says the same of Azure from its own resources", async () => {
    const real = await planOf("azure-dev", stackConfig("azure-dev"));
    assert.deepEqual(edge(real), { publicBalancer: true, nats: ["1"], endpoints: ["KeyVault", "Storage"] });
    const holders = stores(real).map(({ title, readers, writers }) => [
      title,
      holdersInWords(real, readers),
      holdersInWords(real, writers),
    ]);
    assert.deepEqual(holders, [
      ...["linux", "win2019", "win2022"].map((pool) => [
        `Key Vault: join of ${pool}`,
        `control plane, ${pool}`,
        "control plane",
      ]),
      ["Key Vault: 5 secrets", "control plane", "nobody"],
      // One is the join secret of the release before.
      ["Key Vault: 2 secrets", "control plane", "control plane"],
      ["Storage: snapshots", "control plane", "control plane"],
    ]);
    assert.equal(reaches(real).length, 13);
    const spot = { name: "w", os: "windows-2022", count: 2, spot: true, hybridBenefit: true };
    const { billed } = await planOf("azure-dev", { ...stackConfig("azure-dev"), ...configTexts({ pools: [spot] }) });
    assert.equal(billed["machine, Standard_D2s_v5, your Windows licence, spot"], 2);
    assert.equal(billed["disk, 128 GiB Premium_LRS"], 2);
  });
});

describe("the Markdown of a plan", () => {
  it("has the topology as Mermaid", () => {
    assert.deepEqual(mermaid(plan), [
      "flowchart LR",
      "  nodeApi([internal load balancer :6443])",
      '  internet(("203.0.113.0/24")) --> publicApi([public load balancer :6443])',
      '  subgraph zone0["r-a"]',
      '    cp_0["cp-0 10.0.0.10"]',
      "  end",
      "  nodeApi --> cp_0",
      "  publicApi --> cp_0",
    ]);
    assert.match(planMarkdown(plan), /\n```mermaid\nflowchart LR\n/);
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
