// Sees what nothing faster does: that a rehearsal of Azure CNI ends red for the fault that it is for.
import { describeControls } from "./controls.ts";

describeControls("the rehearsal of pods with addresses of their machine's interface", {
  "that a machine keeps the addresses for itself": {
    only: "workloads",
    stack: "azure-cni",
    faults: ["pod-addresses-kept"],
    fails: { workloads: /coredns has 0 of 2 pods available|^not finished after 120 s$/ },
  },
});
