import { basename } from "node:path";
import { addOnPrograms } from "../../rehearsal/programs/addOnTable.ts";
import { type Control, describeControls } from "./controls.ts";

const options = ["--real-add-ons"];

/** A fault in every program of the cloud, or in every other; each must be named. */
function control(cloud: "aws" | "azure", fault: "flag" | "rights", ofCloud: boolean): Control {
  const names = addOnPrograms
    .filter(({ name, cloud: only = cloud }) => only === cloud && /cloud-/.test(name) === ofCloud)
    .filter(({ name }) => !without[fault].includes(name));
  const told = names.map(({ name, path }) =>
    fault === "flag"
      ? `(?=.*, ${name} ended with exit code \\d+: [^;]*no-such-flag)`
      : `(?=.*: may not [^;]*\\(${basename(path)}\\))`,
  );
  const only = ofCloud ? "nodes ready" : "add-ons: programs";
  const stack = `${cloud}-dev`;
  return {
    faults: [faults[fault][ofCloud ? 1 : 0]],
    only,
    stack,
    options: ["--every-add-on", ...options],
    fails: { [only]: new RegExp(told.join("")) },
  };
}

/** CoreDNS is kubeadm's object, and the others need no right here. */
const without = { flag: ["coredns"], rights: ["coredns", "node-exporter", "aws-ebs-csi-driver"] };
const faults = {
  flag: ["add-ons-unknown-flag", "cloud-programs-unknown-flag"],
  rights: ["add-ons-without-rights", "cloud-programs-without-rights"],
} as const;

describeControls("the rehearsal of add-ons by their own programs", {
  "an unknown flag of each program of AWS": control("aws", "flag", true),
  "an unknown flag of each program of Azure": control("azure", "flag", true),
  "an unknown flag of each other program on AWS": control("aws", "flag", false),
  "an unknown flag of each other program on Azure": control("azure", "flag", false),
  "missing rights of each program of AWS": control("aws", "rights", true),
  "missing rights of each program of Azure": control("azure", "rights", true),
  "missing rights of each other program on AWS": control("aws", "rights", false),
  "missing rights of each other program on Azure": control("azure", "rights", false),
  "that CoreDNS asks itself": {
    only: "add-ons: programs",
    options,
    faults: ["no-upstream-dns"],
    fails: { "add-ons: programs": /^coredns-\S+, coredns ended with exit code \d+: .*[Ll]oop/ },
  },
  "a path in a HostProcess container that Windows Server 2019 does not bind": {
    only: "nodes ready",
    stack: "azure-dev",
    options,
    faults: ["host-process-path"],
    // Not those of 2022, which bind it.
    fails: {
      "nodes ready":
        /^add-ons: (?!.*win2022)win2019\d+, cloud-node-manager-windows ended with exit code 1: .*no such file/,
    },
  },
});
