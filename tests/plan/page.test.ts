import assert from "node:assert/strict";
import { Script } from "node:vm";
import fc from "fast-check";
import { readBasePlan } from "../../plan/diff/base.ts";
import { diffPlans } from "../../plan/diff/compare.ts";
import { relativePath } from "../../plan/report/files.ts";
import { highlight } from "../../plan/report/highlight.ts";
import { mermaid, planMarkdown } from "../../plan/report/markdown.ts";
import { edge, holdersInWords, reaches, stores } from "../../plan/report/page/access.ts";
import { planHtml } from "../../plan/report/page/html.ts";
import { layOut } from "../../plan/report/page/layout.ts";
import type { Area, Scene } from "../../plan/report/page/scene.ts";
import { pageScript } from "../../plan/report/page/script.ts";
import { bars } from "../../plan/report/page/timeline.ts";
import { figures } from "../../plan/report/page/titleCard.ts";
import type { Plan, PlanPool } from "../../plan/report/plan.ts";
import { configTexts, planOf } from "../support/planOf.ts";
import { stackConfig } from "../support/stacks.ts";

const hostile = `<script>alert("x")</script>`;
const plan: Plan = {
  version: 2,
  stack: "s",
  cluster: { name: "s", cloud: "aws", region: "r", environment: "development", accountId: null, kubernetes: "1.36.4" },
  network: {
    cidr: "10.0.0.0/16",
    nat: "single",
    podCidr: "",
    serviceCidr: "",
    zones: [{ zone: "r-a", private: "", public: "", controlPlane: "" }],
    publicAccess: ["203.0.113.0/24"],
  },
  controlPlane: {
    size: "",
    vcpus: 2,
    memoryGib: 8,
    image: "",
    etcdDiskGb: 8,
    members: [{ etcdName: "cp-0", zone: "r-a", address: "10.0.0.10" }],
  },
  pools: [],
  machines: [
    {
      name: "m",
      role: "linux",
      count: 1,
      size: "",
      image: hostile,
      zones: ["r-a"],
      userData: { bytes: 10, limit: 100, sha256: "0".repeat(64) },
      entry: "/run.sh",
      files: [{ path: "/run.sh", mode: "0755", bytes: 1, sha256: "0".repeat(64), content: `echo '${hostile}' # ${hostile}` }],
    },
  ],
  resources: [
    {
      urn: "urn:s",
      type: "t",
      name: hostile,
      parent: null,
      custom: true,
      inputs: { a: hostile },
      dependencies: [],
      propertyDependencies: {},
      provider: null,
      options: {},
    },
  ],
  outputs: [],
  messages: [],
  billed: {},
  findings: [{ acknowledged: null, id: "f", level: "note", path: hostile, message: "M.", remedy: "R." }],
};

const pool: PlanPool = {
  name: hostile,
  path: "",
  os: "linux",
  build: null,
  size: hostile,
  vcpus: 4,
  memoryGib: 16,
  zones: ["r-a"],
  count: 3,
  autoscale: { min: 1, max: 5 },
  image: hostile,
  diskGb: 50,
  spot: true,
  labels: { [hostile]: hostile },
  taints: [hostile],
  runtimeClass: hostile,
  toReady: null,
};

/** The text of HTML that holds nothing but spans. */
function textOf(html: string): string {
  return html
    .replaceAll(/<\/?span[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
}

describe("the page of a plan", () => {
  it("needs nothing from elsewhere and runs no text of the plan", () => {
    const html = planHtml({ ...plan, pools: [pool] });
    assert.equal(html.match(/<script>/g)?.length, 1);
    assert.ok(!html.includes(hostile));
    assert.doesNotMatch(html, /(src|href)="(https?:)?\/\//);
    assert.match(html, /Content-Security-Policy" content="default-src 'none'/);
  });

  it("shows what is before and after, and only where there is a before", () => {
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
    // A plan that an older version made has the comparison, if not every figure.
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

  it("colours a file and changes no character of it", () => {
    const path = fc.constantFrom("/a.sh", "C:\\a.ps1", "/a.json", "/a.yaml", "/a.conf");
    fc.assert(
      fc.property(path, fc.string({ unit: fc.constantFrom(..."ab1 #'\"$<>&\\:=[]{}\n") }), (file, text) =>
        assert.equal(textOf(highlight(file, text)), text),
      ),
    );
    assert.equal(highlight("/a.sh", "x # y"), 'x <span class="comment"># y</span>');
    assert.equal(highlight("a.json", '{"k": true}'), '{<span class="key">&quot;k&quot;</span>: <span class="keyword">true</span>}');
  });
});

describe("the picture of a plan", () => {
  /** Whether two areas share a pixel. */
  const overlap = (a: Area, b: Area): boolean => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
  const inside = (a: Area, b: Area): boolean =>
    a.x >= b.x && a.y >= b.y && a.x + a.width <= b.x + b.width && a.y + a.height <= b.y + b.height;

  /** What is wrong with a scene: boxes and labels that overlap, and what is outside of the picture. */
  function faults({ width, height, boxes, labels, frames, arrows }: Scene): readonly string[] {
    const texts = labels.map(({ x, y, width: room, text }) => ({ text, x, y: y - 12, width: room, height: 15 }));
    const areas = [...boxes.map((box) => ({ ...box, text: box.lines[0]?.text ?? "" })), ...texts];
    const pairs = areas.flatMap((a, index) => areas.slice(index + 1).map((b) => [a, b] as const));
    const page = { x: 0, y: 0, width, height };
    const points = arrows.flatMap((arrow) => arrow.points).map(([x, y]) => ({ text: "arrow", x, y, width: 0, height: 0 }));
    return [
      ...pairs.filter(([a, b]) => overlap(a, b)).map(([a, b]) => `${a.text} over ${b.text}`),
      ...[...areas, ...points].filter((area) => !inside(area, page)).map(({ text }) => `${text} outside`),
      ...frames
        .flatMap((frame) => areas.filter((area) => overlap(area, frame) && !inside(area, frame)))
        .map(({ text }) => `${text} half in a frame`),
      ...frames
        .filter(({ label, width: room, indent = 14 }) => indent + label.length * 9 > room)
        .map(({ label }) => `${label} beyond its frame`),
    ];
  }

  const twelve = Array.from({ length: 12 }, (_, index) => ({
    name: `longish-pool-${index}`,
    os: index % 3 === 0 ? "linux" : "windows-2022",
    count: index,
    perZone: index % 4 === 1,
  }));
  const cases: Readonly<Record<string, () => Promise<Plan>>> = {
    ...Object.fromEntries(
      ["aws-dev", "aws-prod", "aws-restricted", "aws-existing", "azure-dev", "azure-prod"].map((stack) => [
        stack,
        () => planOf(stack, stackConfig(stack)),
      ]),
    ),
    "twelve pools": () => planOf("aws-prod", { ...stackConfig("aws-prod"), ...configTexts({ pools: twelve }) }),
  };
  for (const [name, made] of Object.entries(cases))
    it(`overlaps nowhere, with every pool and member on it, ${name}`, async () => {
      const real = await made();
      for (const form of ["wide", "narrow"] as const) {
        const marks = new Map(real.pools.map((pool) => [pool.name, "rolls one by one"]));
        for (const scene of [layOut(real, form), layOut(real, form, marks)]) {
          assert.deepEqual(faults(scene), []);
          const titles = (kind: string) => scene.boxes.filter((box) => box.kind.startsWith(kind)).length;
          assert.equal(titles("pool"), real.pools.length);
          assert.equal(titles("control"), real.controlPlane.members.length);
        }
      }
      const [first] = layOut(real, "wide").boxes;
      assert.ok(first);
      const twice = { ...layOut(real, "wide"), boxes: [first, first], labels: [], frames: [], arrows: [] };
      assert.equal(faults(twice).length, 1);
    });

  it("shows what is there: balancers, gateways, stores with those who may use them", async () => {
    const real = await planOf("aws-dev", stackConfig("aws-dev"));
    const shown = layOut(real, "wide").boxes.map(({ lines }) => lines.map(({ text }) => text).join("; "));
    const secrets = "encryption-key, etcd-ca,; front-proxy-ca, kubernetes-ca,; service-account";
    assert.deepEqual(shown, [
      "Allowed networks; 203.0.113.0/24",
      "NAT gateway; zone a",
      "Public load balancer, TCP 6443",
      "cp-0; 10.0.224.10; m7i.large; etcd disk 20 GiB",
      "Internal load balancer, TCP 6443",
      "linux; 2 × m7i.large, linux",
      "win2019; 2 × m7i.large, windows-2019",
      "win2022; 2 × m7i.large, windows-2022",
      "Internet; downloads and images; reached privately: s3",
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
    assert.deepEqual(
      rules.filter(({ to }) => to === "public load balancer").map(({ from, ports }) => [from, ports]),
      [["203.0.113.0/24", "TCP 6443"]],
    );
    assert.deepEqual(
      figures(real).map(({ name, value }) => [name, value]),
      [
        ["Machines", "7"],
        ["vCPUs", "14"],
        ["Memory", "56 GiB"],
        ["Zones", "2"],
        ["Errors / warnings", "0 / 2"],
      ],
    );
    assert.deepEqual(real.billed, {
      "NAT gateway": 1,
      "disk, 120 GiB gp3, 400 MiB/s": 4,
      "disk, 20 GiB gp3": 1,
      "disk, 50 GiB gp3": 3,
      key: 1,
      "load balancer": 2,
      "machine, m7i.large": 3,
      "machine, m7i.large, with a Windows licence": 4,
      "public address": 3,
    });
    const way = real.pools[1]?.toReady;
    assert.ok(way);
    assert.equal(Math.max(...bars(way).map(({ start, seconds }) => start + seconds)), way.seconds);
    assert.deepEqual(
      bars(way)
        .slice(0, 4)
        .map(({ name, start, lane }) => [name, start, lane]),
      [
        ["first boot of the image", 0, 0],
        ["os", 120, 0],
        ["artifacts", 120, 1],
        ["reboot", 220, 0],
      ],
    );
  });

  it("says the same of Azure from its own resources", async () => {
    const real = await planOf("azure-dev", stackConfig("azure-dev"));
    assert.deepEqual(edge(real), { publicBalancer: true, nats: ["1"], endpoints: ["KeyVault", "Storage"] });
    assert.deepEqual(
      stores(real).map(({ title, readers, writers }) => [title, holdersInWords(real, readers), holdersInWords(real, writers)]),
      [
        ["Key Vault: 5 secrets", "control plane", "nobody"],
        ["Key Vault: initialised", "control plane", "control plane"],
        ["Key Vault: join", "control plane, all pools", "control plane"],
        ["Storage: snapshots", "control plane", "control plane"],
      ],
    );
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
