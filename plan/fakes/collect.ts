import type { RecordedProgram } from "../program/recorded.ts";
import { collectAwsMachines } from "./awsMachines.ts";
import { collectAzureHosts } from "./azureMachines.ts";
import type { ProgramIndex, SimulatedMachine } from "./machines.ts";

/** @see programIndex for `howMany` */
export function collectMachines(
  program: RecordedProgram,
  howMany?: ProgramIndex["howMany"],
): readonly SimulatedMachine[] {
  return [
    ...collectAwsMachines(program, howMany),
    ...collectAzureHosts(program, howMany).map(({ machine }) => machine),
  ];
}
