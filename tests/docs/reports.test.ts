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
  ["velero#3687", "debugging", ["UnauthorizedOperation"]],
  ["AKS#921", "debugging", ["azure-pip-name", "AuthorizationFailed"]],
  ["AKS#621", "debugging", ["ScopeLocked"]],
  ["eks-workshop-v2#1644", "debugging", ["not eligible for Free Tier"]],
  ["eks-workshop-v2#1928", "debugging", ["VPC Block Public Access"]],
  ["AKS#2802", "machines", ["rsyslog", "1 GB at most"]],
  ["Windows-Containers#591", "debugging", ["0xc0370106"]],
  ["Windows-Containers#591", "updates", ["0xc0370106"]],
  ["aws-ebs-csi-driver#2100", "debugging", ["Set-Disk -Number N -IsOffline $true", "busy"]],
  ["aws-ebs-csi-driver#569", "backup", ["enlarge the claim afterwards"]],
  ["csi-driver-smb#655", "debugging", ["Network access is denied", "system error 65"]],
  ["csi-driver-smb#1219", "debugging", ["Disconnected"]],
  ["K2s#345", "debugging", ["rm-*"]],
  ["azure-docs#32161", "debugging", ["recovery partition"]],
  ["kubernetes#137381", "debugging", ["1.35 with `azure-cni`"]],
  ["Windows-Containers#405", "debugging", ["gMSA lose the trust"]],
  ["Windows-Containers#633", "debugging", ["1001 (BugCheck)"]],
  ["Windows-Containers#546", "../windows-applications", ["CTRL_SHUTDOWN_EVENT"]],
  ["kubernetes#102737", "debugging", ["what a Linux pod wrote is gone"]],
  ["azuredisk-csi v1.34.5", "debugging", ["block device size did not match requested size"]],
  ["ctldl.windowsupdate.com", "debugging", ["SEC_E_UNTRUSTED_ROOT"]],
];

describe("public reports", () => {
  for (const [report, file, found] of words)
    it(`${report}: ${file}.md has the words of the error`, () => {
      const { text } = readDocument(`docs/operations/${file}.md`);
      for (const each of found) assert.ok(text.replaceAll(/\s+/g, " ").includes(each), each);
    });
});
