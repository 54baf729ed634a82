import assert from "node:assert/strict";
import { Script } from "node:vm";
import fc from "fast-check";
import { relativePath } from "../../plan/report/files.ts";
import { highlight } from "../../plan/report/highlight.ts";
import { planHtml } from "../../plan/report/html.ts";
import { mermaid, planMarkdown } from "../../plan/report/markdown.ts";
import { pageScript } from "../../plan/report/page.ts";
import type { Plan } from "../../plan/report/plan.ts";

const hostile = `<script>alert("x")</script>`;
const plan: Plan = {
  version: 1,
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
      userData: { bytes: 10, limit: 100, sha256: "" },
      entry: "/run.sh",
      files: [{ path: "/run.sh", mode: "0755", bytes: 1, sha256: "", content: `echo '${hostile}' # ${hostile}` }],
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
  cost: { date: null, lines: [], known: 0, complete: false },
  findings: [{ acknowledged: null, id: "f", level: "note", path: hostile, message: "M.", remedy: "R." }],
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
    const html = planHtml(plan);
    assert.equal(html.match(/<script>/g)?.length, 1);
    assert.ok(!html.includes(hostile));
    assert.doesNotMatch(html, /(src|href)="(https?:)?\/\//);
    assert.match(html, /Content-Security-Policy" content="default-src 'none'/);
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
    assert.equal(
      highlight("a.json", '{"k": true}'),
      '{<span class="key">&quot;k&quot;</span>: <span class="keyword">true</span>}',
    );
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
