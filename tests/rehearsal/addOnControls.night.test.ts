import { describeControls } from "./controls.ts";

const options = ["--real-add-ons"];
const control = { only: "add-ons: programs", options };
const onAzure = { only: "nodes ready", stack: "azure-dev", options };

describeControls("the rehearsal of add-ons by their own programs", {
  "a right that is missing": {
    ...control,
    faults: ["add-on-without-right"],
    fails: { "add-ons: programs": /:metrics-server may not \w+ nodes/ },
  },
  "a flag that a program does not have": {
    ...control,
    faults: ["add-on-unknown-flag"],
    fails: {
      "add-ons: programs":
        /^metrics-server-\S+, metrics-server ended with exit code \d+: .*unknown flag: --metric-resolutions/,
    },
  },
  "that CoreDNS asks itself": {
    ...control,
    faults: ["no-upstream-dns"],
    fails: { "add-ons: programs": /^coredns-\S+, coredns ended with exit code \d+: .*[Ll]oop/ },
  },
  "a path in a HostProcess container that Windows Server 2019 does not bind": {
    ...onAzure,
    faults: ["host-process-path"],
    // Not those of 2022, which bind it.
    fails: {
      "nodes ready": /^win2019\d+, cloud-node-manager-windows ended with exit code 1: .*no such file.* \(and 1 more\)/,
    },
  },
  "a flag that the node manager does not have": {
    ...onAzure,
    faults: ["host-process-flag"],
    fails: {
      "nodes ready": /^win\d+, cloud-node-manager-windows ended with exit code 1: .*unknown flag: --wait-route/,
    },
  },
});
