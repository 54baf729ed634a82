import { describeControls } from "./controls.ts";

const control = { only: "add-ons: programs", options: ["--real-add-ons"] };

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
});
