import { listOf, mapOf, textOf } from "../../../plan/program/values.ts";
import { type BodyRule, customDataProblem, when, zonesOf } from "./rule.ts";

const vm = "compute:VirtualMachine";

/** Rules on single virtual machines. */
export const machineRules: readonly BodyRule[] = [
  {
    title: "customData is base64 of at most 65,535 characters (VM)",
    source: "Azure REST API, OSProfile: customData",
    kind: vm,
    problem: (inputs) => customDataProblem(mapOf(inputs.osProfile)),
  },
  {
    title: "a VM's name is its computer's, 6 to 64 characters",
    source: "kubernetes-sigs/cloud-provider-azure: topics/node-types, pkg/provider/azure_vmssflex_cache.go",
    kind: vm,
    problem: (inputs) => {
      const name = textOf(inputs.vmName) ?? "";
      const same = textOf(mapOf(inputs.osProfile).computerName) === name;
      return when(!same || name.length < 6 || name.length > 64 || !/^[a-z][a-z0-9-]*[a-z0-9]$/.test(name), name);
    },
  },
  {
    title: "a zonal disk is attached in its own zone",
    source: "Azure documentation, availability zones of managed disks",
    kind: vm,
    problem: (inputs, _, { resources }) => {
      const ids = listOf(mapOf(inputs.storageProfile).dataDisks).map((disk) => textOf(mapOf(mapOf(disk).managedDisk).id));
      const disks = resources.filter(({ id }) => id !== undefined && ids.includes(id));
      if (disks.length !== 1) return `${disks.length} data disks`;
      return when(
        disks.some((disk) => zonesOf(disk.inputs).join() !== zonesOf(inputs).join()),
        "zones",
      );
    },
  },
  {
    title: "disks and cards outlive the machine that they are attached to",
    source: "Azure documentation, delete a VM and attached resources",
    kind: vm,
    problem: (inputs) => {
      const disks = listOf(mapOf(inputs.storageProfile).dataDisks).map(mapOf);
      const cards = listOf(mapOf(inputs.networkProfile).networkInterfaces).map(mapOf);
      if (disks.some(({ createOption }) => createOption !== "Attach")) return "createOption";
      return when(
        [...disks, ...cards].some(({ deleteOption }) => deleteOption !== "Detach"),
        "deleteOption",
      );
    },
  },
];
