import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { nodePorts, ports } from "../../components/model/ports.ts";
import { podNetworks } from "../../components/podNetworks/podNetworks.ts";

const root = path.join(import.meta.dirname, "../../");
const folders = ["components", "plan", "check", "rehearsal", "cli", "examples/ci", "stacks"];

/** A cloud's own: files and folders of its name, its facts, its fakes. */
const isOwn = (file: string) =>
  /(^|\/)(aws|azure)[^/]*(\/|\.ts$)|^(components\/model\/cloudFacts|plan\/fakes|rehearsal\/clouds)\//.test(file);

/** Other files whose code names a cloud, each with its reason. One that is gone fails too. */
const choosing: Readonly<Record<string, string>> = {
  "check/account/ask.ts": "only the SDK of the chosen cloud is loaded",
  "components/gates/account/start.ts": "only the SDK of the chosen cloud is loaded",
  "check/facts.ts": "expected values are not the program's",
  "examples/ci/index.ts": "only the SDK of the chosen cloud is loaded",
  "cli/down.ts": "commands of two clouds, as they are shown",
  "cli/init/questions.ts": "commands of two clouds",
  "cli/up/evidence.ts": "commands of two clouds",
  "cli/up/places.ts": "commands of two clouds, as they are shown",
  "cli/image/builders.ts": "builders of two clouds",
  "components/kubernetes/addOns/autoscaler.ts": "flags of one program on two clouds",
  "components/kubernetes/addOns/cloudController.ts": "two programs",
  "components/kubernetes/addOns/gmsa.ts": "what two plug-ins read",
  "components/kubernetes/addOns/volumes.ts": "two drivers",
  "components/machine/cloudAccess.ts": "the one place that tells two kinds of access apart",
  "components/machine/windows/userData.ts": "two agents that run it",
  "plan/replacement/table.ts": "rows of two providers",
  "plan/report/rules/content.ts": "the speed of one cloud's disks follows their size",
  "plan/report/access.ts": "two evaluators of rights",
  "rehearsal/machines/windowsMachine.ts": "what a script does, done again",
  "stacks/program.ts": "only the SDK of the chosen cloud is loaded",
};

/**
 * Names of a cloud in code: `aws` as a text, in a path of an import or within a name. Those of the pod network and of
 * Azure's log service are settings, and those of types, images and hosts are others'.
 */
function namesIn(text: string) {
  // To read all files takes seconds.
  if (!/aws|azure/i.test(text)) return [];
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    const isName =
      (ts.isIdentifier(node) &&
        /^(aws|azure)($|[A-Z])|Aws|Azure/.test(node.text) &&
        !/[aA]zure(Cni|Monitor)|inflateRaw/.test(node.text)) ||
      (ts.isStringLiteralLike(node) && /^(aws|azure)$|^\.{1,2}\/(?!.*azureCni).*(aws|azure)/i.test(node.text));
    if (isName) found.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("x.ts", text, ts.ScriptTarget.Latest, true));
  return found;
}

describe("the name of a cloud", () => {
  it("stands in the cloud's own code, and in at most twenty files that choose", () => {
    const named = folders
      .flatMap((folder) =>
        readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
          path.posix.join(folder, name),
        ),
      )
      .filter((file) => file.endsWith(".ts") && !isOwn(file))
      .filter((file) => namesIn(readFileSync(path.join(root, file), "utf8")).length > 0);
    assert.deepEqual(named.sort(), Object.keys(choosing).sort());
    assert.ok(named.length <= 20);
  });
});

/** Where port numbers and versions are written: each once. */
const tables = [
  "components/model/ports.ts",
  // Ports of the pod networks.
  "components/podNetworks/azureCni/network.ts",
  "components/podNetworks/flannel/network.ts",
  // Builds of Windows.
  "components/model/operatingSystems.ts",
  // The same as the rehearsal expects them.
  "check/facts.ts",
];

/** Places that repeat one on purpose. One that is gone fails too, so a changed port shows where it is repeated. */
const scripts = "a script is a file of its own; its text is part of the machine's fingerprint";
const exceptions: readonly (readonly [file: string, text: string, reason: string])[] = [
  ["components/machine/linux/scripts/etcd-defrag.sh", String(ports.etcdClient), scripts],
  ["components/machine/linux/scripts/etcd-restore.sh", String(ports.etcdPeer), scripts],
  ["components/machine/linux/scripts/etcd-restore.sh", String(ports.etcdMetrics), scripts],
  ["components/machine/linux/scripts/etcd-snapshot.sh", String(ports.etcdClient), scripts],
  ["components/machine/linux/scripts/etcd.sh", String(ports.etcdClient), scripts],
  ["components/machine/linux/scripts/etcd.sh", String(ports.etcdMetrics), scripts],
  ["components/machine/linux/scripts/stages/encrypted.sh", String(ports.etcdClient), scripts],
  ["components/machine/linux/scripts/stages/membership.sh", String(ports.etcdPeer), scripts],
  ["components/machine/linux/scripts/stages/membership.sh", "3.6.11", "the release of etcd that mended it"],
  ["components/machine/linux/scripts/stages/promote.sh", String(ports.etcdPeer), scripts],
  ["components/podNetworks/flannel/start-kube-proxy.ps1", "1.0.0", scripts],
  ["components/kubernetes/addOns/metrics.ts", "10250", "the port of metrics-server in its own pod, as upstream has it"],
  ["rehearsal/clouds/publishers.ts", "0.0.0", "no version"],
  ["rehearsal/host/machineRoot.ts", "24.04.4", "the os-release of an Ubuntu that is imitated"],
  ["rehearsal/machines/containers.ts", "0.3.0", "the file of an image that is imitated"],
];

const podPorts = Object.values(podNetworks).flatMap(({ traffic }) =>
  traffic.flatMap(({ ports: { first, last } }) => (first === last ? [last] : [])),
);
const numbers = [...Object.values(ports), nodePorts.last, ...podPorts];
const portPattern = new RegExp(`(?<![\\d.])(?:${numbers.join("|")})(?!\\d)`, "g");

/** Ports and versions in a text that is no comment. */
function found(text: string) {
  return [...text.matchAll(portPattern), ...text.matchAll(/(?<![\d.])\d+\.\d+\.\d+(?![\d.])/g)].map(([match]) => match);
}

/** The same of TypeScript: numbers, strings, templates and patterns. */
function literalsOf(text: string) {
  if (found(text).length === 0) return [];
  const literals: string[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isLiteralExpression(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      literals.push(...found(node.text));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("x.ts", text, ts.ScriptTarget.Latest, true));
  return literals;
}

/** The same of bash and PowerShell, whose comments are separate lines here. */
function scriptLiterals(text: string) {
  return text.split("\n").flatMap((line) => (/^\s*#/.test(line) ? [] : found(line)));
}

function repeated() {
  return folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(ts|sh|ps1)$/.test(name) && !tables.includes(path.posix.join(folder, name)))
      .flatMap((name) => {
        const file = path.posix.join(folder, name);
        const text = readFileSync(path.join(root, file), "utf8");
        const literals = file.endsWith(".ts") ? literalsOf(text) : scriptLiterals(text);
        return [...new Set(literals)].map((literal) => `${file}: ${literal}`);
      }),
  );
}

describe("ports and versions", () => {
  it("stand in their tables alone", () => {
    assert.deepEqual([...repeated()].sort(), exceptions.map(([file, text]) => `${file}: ${text}`).sort());
  });
});
