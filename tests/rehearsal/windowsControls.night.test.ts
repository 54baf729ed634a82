import { describeControls } from "./controls.ts";

const taint =
  /^taint os of i-[0-9a-f]{17}: found \[{"effect":"NoSchedule","key":"os","value":"Windows"}\], wanted \[{"effect":"NoSchedule","key":"os","value":"windows"}\]$/;

describeControls("the rehearsal of Windows machines", {
  "a taint that is corrupted in the decoded user data, and skips what follows from it": {
    faults: ["windows-taint"],
    only: "pool ",
    fails: { "pool win2019: registration": taint, "pool win2022: registration": taint },
    // Two pools that are not ready, and the slow check of a pool's gate.
    counts: /^2 passed, 2 failed, 3 skipped$/,
  },
  "that the API server refuses what kubelet.exe registers, and quotes it": {
    faults: ["windows-duplicate-taint"],
    only: "nodes register",
    wine: true,
    fails: {
      "nodes register":
        /^aws-dev-pool-win20\d\d-group\[[01]\].*: Node "i-[0-9a-f]{17}" is invalid: metadata\.taints\[2\]: Duplicate value: .*uninitialized/,
    },
  },
  "what each program that a Windows machine's scripts start does not take": {
    faults: ["windows-reservations", "windows-cni-version", "windows-proxy-flag", "windows-drain-columns"],
    only: "windows: ",
    wine: true,
    fails: {
      "windows: host-local.exe": /flannel\.4096s.*No such file/,
      "windows: CNI plug-in": /cannot unmarshal string into Go struct field NetConf\.NetConf\.apiVersion of type int/,
      "windows: kube-proxy.exe": /unknown flag: --source-vips/,
      "windows: kubectl.exe": /^namespace, name and owners of the node's pods.*"<none>"/,
    },
  },
});
