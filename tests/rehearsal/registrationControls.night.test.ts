import { describeControls } from "./controls.ts";

describeControls("the rehearsal of registration and of the cluster", {
  "that the API server refuses what kubelets register, and quotes it": {
    faults: ["duplicate-taint"],
    only: "nodes register",
    fails: {
      "nodes register":
        /^aws-dev-control-plane-0-instance: Node "i-[0-9a-f]{17}" is invalid: metadata\.taints\[\d\]: Duplicate value: {"key":"node\.cloudprovider\.kubernetes\.io\/uninitialized",.*}: taints must be unique by key and effect pair$/i,
    },
    counts: "0 passed, 1 failed",
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
    fails: { "nodes register": /^aws-dev-pool-linux-group-[01](?: \(and 1 more\))?: .*certificate signed by unknown authority/ },
    counts: "0 passed, 1 failed, 3 skipped",
  },
  "what each of several faults breaks in one cluster, and nothing else": {
    faults: ["launch-hook", "probe-port", "approves-every-name"],
    only: "",
    fails: {
      "launch hooks": /^workers of which their group learns nothing: found \["i-[0-9a-f]{17}","i-[0-9a-f]{17}"\]/,
      "static pods": /^kube-scheduler-i-[0-9a-f]{17} is not ready: \w+ probe failed: .*:10259: connect: connection refused$/,
      "names of nodes": /^system:node:i-[0-9a-f]{17} was approved$/,
    },
  },
});
