import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { roles } from "../../components/azure/roles.ts";
import { configJsonSchema } from "../../components/config/jsonSchema.ts";
import { removedSettings } from "../../components/config/load.ts";
import { leavesOf } from "../support/leaves.ts";
import { documents, readDocument, root } from "./documents.ts";

const leaves = leavesOf(configJsonSchema()).map(([name]) => name);

/** Names of settings at every level: `pools`, `kubelet`, `maxPods`. */
const names = new Set(leaves.flatMap((leaf) => leaf.split(/[.[\]*]+/)));

/** What a setting would be called that a row of docs/limits.md says is not there. */
const absent: Readonly<Record<string, RegExp>> = {
  "IPv6, dual stack": /ipv6|dualStack/i,
  "a second range of a network that Fenestra makes": /^network\.(cidrs|moreCidrs)/,
  "pools of another Pulumi program": /attach/i,
  "a zone more for a cluster whose control-plane machines share zones": /^controlPlane\.zones/,
  "peering, VPN, transit gateway": /peering|vpn|transit/i,
  "Arm machines": /(^|\.)arch/i,
  "SSH, RDP, key pairs, a bastion": /ssh|rdp|keyPair|bastion/i,
  "inbound rules of your own on machines": /inbound|securityRules/i,
  "roles of your own on Azure, or for the control plane": /^controlPlane\.(role|identity|instanceProfile)/,
  "another pod network, network policies on Windows nodes or Azure CNI": /cilium|calico|policies\.windows/i,
  "GPU drivers, device plug-ins": /driver|devicePlugin/i,
  "private endpoints for vaults and storage on Azure": /privateEndpoint/i,
  "a Private Link Service for a Service on Azure": /privateLink/i,
  "interface endpoints in some zones only, with `network.nat: none` on AWS": /endpointZones|endpoints\b/,
  "ingress, external-dns, cert-manager": /ingress|externalDns|certManager/i,
  "Prometheus, metrics agents of CloudWatch or Azure Monitor": /^addons\.(prometheus|metrics(?!Server))/i,
  "EFS, Azure Files, other storage classes": /\befs|azureFiles|storageClasses/i,
  "the stack's `tags` on load balancers of Services on AWS": /balancerTags/i,
  "the stack's `tags` on disks of claims on Azure": /diskTags/i,
  "Network Load Balancers by default for Services on AWS": /balancerType|nlb/i,
  "backup of objects and volumes": /^addons\.(backup|velero)/i,
  "a maintenance window": /maintenance|window$/i,
  "the time that a drain may take": /drain/i,
  "keys of KMS or Key Vault for Secrets in etcd": /^secretsEncryption\.(?!keys)/,
  "joining a domain": /domainJoin|joinDomain/i,
  "language, product key, exclusions of Defender": /language|locale|productKey|defender/i,
  "flow logs of the network (EC2.6, CKV2_AWS_11; on Azure likewise)": /flowLog/i,
  "access logs of buckets (S3.9, CKV_AWS_18)": /accessLog/i,
  "protection of the API's load balancer from deletion (ELB.6, CKV_AWS_150)": /deletionProtection/i,
  "a key of yours for snapshots of etcd, logs (S3.17, CKV_AWS_145)": /backup.*(key|kms)|snapshotKey/i,
  "an expiry and a content type of secrets in vaults (CKV_AZURE_41, CKV_AZURE_114)": /expir(y|es)|contentType/i,
  "AWS in China": /china/i,
};

/** Names of others: Kubernetes (claims, Services), Entra ID (applications), a function of cloud-provider-aws. */
const foreign = ["dataSource", "isNLB", "requestedAccessTokenVersion", "trafficDistribution"];

describe("sentences of the documentation", () => {
  it("deny no setting that there is", () => {
    const rows = [...readDocument("docs/limits.md").text.matchAll(/^\| (?!Wish|---)(.+?) \|/gm)].map(
      ([, wish]) => wish,
    );
    assert.deepEqual(rows, Object.keys(absent));
    const there = Object.entries(absent).flatMap(([wish, form]) =>
      leaves.filter((leaf) => form.test(leaf)).map((leaf) => `${wish}: ${leaf}`),
    );
    assert.deepEqual(there, []);
  });

  it("name no setting that has gone", () => {
    const gone = Object.keys(removedSettings)
      .map((setting) => setting.split(".").at(-1) ?? "")
      // Also a service of AWS.
      .filter((name) => !names.has(name) && name !== "kms");
    assert.ok(gone.includes("plugin"), gone.join(" "));
    const stale = documents()
      .filter(({ file }) => !/^CHANGES|^docs\/adr/.test(file))
      .flatMap(({ file, prose }) =>
        gone.filter((name) => prose.includes(`\`${name}\``)).map((name) => `${file}: ${name}`),
      );
    assert.deepEqual(stale, []);
  });

  it("name nothing in camel case that neither the schema nor a file of the project has", () => {
    const files = execFileSync("git", ["ls-files", "--", ":!*.md", ":!package-lock.json"], {
      cwd: root,
      encoding: "utf8",
    });
    const known = new Set(
      files
        .trim()
        .split("\n")
        .flatMap((file) => readFileSync(path.join(root, file), "utf8").match(/[A-Za-z]\w*/g) ?? []),
    );
    const words = documents()
      .filter(({ file }) => !/^CHANGES|^docs\/adr/.test(file))
      .flatMap(({ file, prose }) =>
        [...prose.matchAll(/`([a-z]+[A-Z]\w*)`/g)].map(([, word = ""]) => ({ file, word })),
      );
    assert.ok(words.length > 50, String(words.length));
    assert.deepEqual(
      words
        .filter(({ word }) => !known.has(word) && !foreign.includes(word))
        .map(({ file, word }) => `${file}: ${word}`),
      [],
    );
  });

  it("give away no role of Azure that the tables of rights do not have", () => {
    const titles = Object.keys(roles).map((name) =>
      name.replaceAll(/[A-Z]/g, " $&").replace(/^./, (first) => first.toUpperCase()),
    );
    const documented = ["docs/security.md"].map(readDocument);
    const tables = documented.flatMap(({ text }) => text.match(/^\|.*$/gm) ?? []).join("\n");
    const stale = documented.flatMap(({ file, prose }) =>
      titles
        .filter((title) => prose.replaceAll(/^\|.*$/gm, "").includes(title) && !tables.includes(title))
        .map((title) => `${file}: ${title}`),
    );
    assert.deepEqual(stale, []);
  });
});
