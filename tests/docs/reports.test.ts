import assert from "node:assert/strict";
import { readDocument } from "./documents.ts";

/** The words by which somebody looks for a public report that nobody can rule out here, by the page that has them. */
const words: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  debugging: {
    "kubeadm#84326": ["start version '1.14.3' not supported"],
    "kops#4533": ["neighbor table overflow", "gc_thresh3"],
    "flannel#1850": ['"cni0" already has an IP address different from'],
    "plugins#252": ["no IP addresses available"],
    "containers-roadmap#2530": ["linklocal_allowance_exceeded", "coredns_forward_healthcheck_failures"],
    "node-problem-detector#474": ["ReadonlyFilesystem"],
    "kubernetes#139132": ["string field contains invalid UTF-8"],
    "AgentBaker#9186": ["6.8.0-1063-azure"],
    "rke2#7438": ["--set-xmark"],
    "runc#5438": ["status 134"],
    "rke2#10860": ["VFIO"],
    "AKS#2251": ["chronyc tracking"],
    "kubeadm#2759": ["database space exceeded"],
    "velero#3687": ["UnauthorizedOperation"],
    "AKS#921": ["azure-pip-name", "AuthorizationFailed"],
    "AKS#621": ["ScopeLocked"],
    "eks-workshop-v2#1644": ["not eligible for Free Tier"],
    "eks-workshop-v2#1928": ["VPC Block Public Access"],
    "Windows-Containers#591": ["0xc0370106"],
    "aws-ebs-csi-driver#2100": ["Set-Disk -Number N -IsOffline $true", "busy"],
    "csi-driver-smb#655": ["Network access is denied", "system error 65"],
    "csi-driver-smb#1219": ["Disconnected"],
    "K2s#345": ["rm-*"],
    "azure-docs#32161": ["recovery partition"],
    "kubernetes#137381": ["1.35 with `azure-cni`"],
    "Windows-Containers#405": ["gMSA lose the trust"],
    "Windows-Containers#633": ["1001 (BugCheck)"],
    "kubernetes#102737": ["what a Linux pod wrote is gone"],
    "azuredisk-csi v1.34.5": ["block device size did not match requested size"],
    "ctldl.windowsupdate.com": ["SEC_E_UNTRUSTED_ROOT"],
  },
  updates: { "kubeadm#84326": ["another image of CoreDNS do not"], "Windows-Containers#591": ["0xc0370106"] },
  machines: { "amazon-ssm-agent#255": ["SSM agent", "held"], "AKS#2802": ["rsyslog", "1 GB at most"] },
  backup: { "aws-ebs-csi-driver#569": ["enlarge the claim afterwards"] },
  "../windows-applications": { "Windows-Containers#546": ["CTRL_SHUTDOWN_EVENT"] },
};

describe("public reports", () => {
  for (const [file, reports] of Object.entries(words))
    for (const [report, found] of Object.entries(reports))
      it(`${report}: ${file}.md has the words of the error`, () => {
        const { text } = readDocument(`docs/operations/${file}.md`);
        for (const each of found) assert.ok(text.replaceAll(/\s+/g, " ").includes(each), each);
      });
});
