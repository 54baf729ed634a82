import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { nodePorts, ports } from "../../components/model/ports.ts";
import { podNetworks } from "../../components/podNetworks/podNetworks.ts";

const root = path.join(import.meta.dirname, "../../");
const folders = ["components", "plan", "check", "rehearsal", "cli", "examples/ci", "stacks"];

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
  ["rehearsal/clouds/artifacts.ts", "0.0.0", "no version"],
  ["rehearsal/host/machineRoot.ts", "24.04.4", "the os-release of an Ubuntu that is imitated"],
  ["rehearsal/programs/podNetworks.ts", "0.3.0", "the file of an image that is imitated"],
];

const podPorts = Object.values(podNetworks).flatMap(({ traffic }) =>
  traffic.flatMap(({ ports: { first, last } }) => (first === last ? [last] : [])),
);
const numbers = [...Object.values(ports), nodePorts.last, ...podPorts];
const portPattern = new RegExp(`(?<![\\d.])(?:${numbers.join("|")})(?!\\d)`, "g");
const versionPattern = /(?<![\d.])\d+\.\d+\.\d+(?![\d.])/g;

/** Ports and versions in a text that is no comment. */
function found(text: string): readonly string[] {
  return [...text.matchAll(portPattern), ...text.matchAll(versionPattern)].map(([match]) => match);
}

/** The same of TypeScript: numbers, strings, templates and patterns. */
function literalsOf(text: string): readonly string[] {
  const literals: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isLiteralExpression(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      literals.push(...found(node.text));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("x.ts", text, ts.ScriptTarget.Latest, true));
  return literals;
}

/** The same of bash and PowerShell, whose comments are separate lines here. */
function scriptLiterals(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => (/^\s*#/.test(line) ? [] : found(line)));
}

function repeated(): readonly string[] {
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
