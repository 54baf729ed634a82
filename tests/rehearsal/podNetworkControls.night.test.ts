// Sees what nothing faster does: that a rehearsal of Azure CNI ends red for each fault that it is for.
import { describeControls } from "./controls.ts";

const control = { only: "pod addresses", stack: "azure-cni" };

describeControls("the rehearsal of pods with addresses of their machine's interface", {
  "that a machine keeps the addresses for itself": {
    ...control,
    faults: ["pod-addresses-kept"],
    fails: { "pod addresses": /^no pod has a network of its own$/ },
  },
  "that pods have other addresses": {
    ...control,
    faults: ["pod-addresses-elsewhere"],
    fails: { "pod addresses": /^pods with other addresses: found \["coredns-\S+ on \S+ has [\d.]+"/ },
  },
});
