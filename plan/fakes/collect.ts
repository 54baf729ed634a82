import type { RecordedProgram } from "../program/recorded.ts";
import { collectAwsMachines } from "./awsMachines.ts";
import { collectAzureMachines } from "./azureMachines.ts";
import type { SimulatedGroup, SimulatedMachine } from "./machines.ts";

/**
 * Every machine that the clouds would run for a recorded program.
 *
 * @param howMany machines of a group; default its desired count. A plan asks for one of each, also of a group that starts empty.
 */
export function collectMachines(program: RecordedProgram, howMany?: (group: SimulatedGroup) => number): readonly SimulatedMachine[] {
  return [...collectAwsMachines(program, howMany), ...collectAzureMachines(program, howMany)];
}
