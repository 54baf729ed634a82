// Sees what nothing faster does: that a rehearsal ends red for faults of registration and of the cluster.
import { describeControls } from "./controls.ts";

const taint = /^taint os of i-[0-9a-f]{17}: found \["os=Windows:NoSchedule"\], wanted \["os=windows:NoSchedule"\]$/;

describeControls("the rehearsal of registration and of the cluster", {
  "that the API server refuses what kubelets register, and quotes it": {
    faults: ["duplicate-taint"],
    only: "nodes register",
    fails: {
      "nodes register":
        /^aws-dev-control-plane-0-instance: Node "i-[0-9a-f]{17}" is invalid: metadata\.taints\[\d\]: Duplicate value: {"key":"node\.cloudprovider\.kubernetes\.io\/uninitialized",.*}: taints must be unique by key and effect pair$/i,
    },
    counts: /^0 passed, 1 failed$/,
  },
  "a label that no kubelet may give its node": {
    faults: ["refused-label"],
    only: "nodes register",
    fails: {
      "nodes register":
        /^aws-dev-pool-linux-group-[01](?: \(and 1 more\))?: .*unknown 'kubernetes\.io' or 'k8s\.io' labels specified with --node-labels: \[node-restriction\.kubernetes\.io\/team\]/,
    },
  },
  "that workers trust another authority, and marks what only follows": {
    faults: ["wrong-ca"],
    only: "n",
    fails: {
      "nodes register": /^aws-dev-pool-linux-group-[01](?: \(and 1 more\))?: .*certificate signed by unknown authority/,
    },
    counts: /^0 passed, 1 failed, 2 skipped$/,
  },
  "a taint that is corrupted in the decoded user data, and skips what follows from it": {
    faults: ["windows-taint"],
    only: "",
    fails: { "pool win2019: registration": taint, "pool win2022: registration": taint },
  },
  "whose name is approved where every name is": {
    faults: ["approves-every-name"],
    only: "names of nodes",
    stack: "azure-dev",
    fails: { "names of nodes": /^system:node:\S+ was approved$/ },
  },
  "a program that answers its probes as an unhealthy one": {
    faults: ["unhealthy-program"],
    only: "workloads",
    stack: "azure-dev",
    fails: { workloads: /coredns has 0 of 2 pods available|^not finished after 120 s$/ },
  },
  "who gets a certificate where every name is approved": {
    faults: ["approves-every-name"],
    only: "replaced",
    stack: "azure-dev",
    options: ["--full"],
    fails: { replaced: /^hostile requests that were approved: found [1-9]/ },
  },
});
