import assert from "node:assert/strict";
import { readDocument } from "./documents.ts";

/** Public reports that nobody can rule out here: the words by which somebody looks for them, and where they stand. */
const words: readonly (readonly [report: string, file: string, words: readonly string[]])[] = [
  ["kubeadm#84326", "debugging", ["start version '1.14.3' not supported"]],
  ["kubeadm#84326", "updates", ["another image of CoreDNS do not"]],
  ["kops#4533", "debugging", ["neighbor table overflow", "gc_thresh3"]],
  ["flannel#1850", "debugging", ['"cni0" already has an IP address different from']],
  ["plugins#252", "debugging", ["no IP addresses available"]],
  ["containers-roadmap#2530", "debugging", ["linklocal_allowance_exceeded", "coredns_forward_healthcheck_failures"]],
  ["node-problem-detector#474", "debugging", ["ReadonlyFilesystem"]],
  ["kubernetes#139132", "debugging", ["string field contains invalid UTF-8"]],
  ["AgentBaker#9186", "debugging", ["6.8.0-1063-azure"]],
  ["rke2#7438", "debugging", ["--set-xmark"]],
  ["runc#5438", "debugging", ["status 134"]],
  ["rke2#10860", "debugging", ["VFIO"]],
  ["AKS#2251", "debugging", ["chronyc tracking"]],
  ["kubeadm#2759", "debugging", ["database space exceeded"]],
  ["amazon-ssm-agent#255", "machines", ["SSM agent", "held"]],
  ["AKS#2802", "machines", ["rsyslog", "1 GB at most"]],
];

describe("public reports on Linux nodes", () => {
  for (const [report, file, found] of words)
    it(`${report}: ${file}.md has the words of the error`, () => {
      const { text } = readDocument(`docs/operations/${file}.md`);
      for (const each of found) assert.ok(text.replaceAll(/\s+/g, " ").includes(each), each);
    });
});
