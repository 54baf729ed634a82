import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { machineRules } from "./bodies/machines.ts";
import { networkRules } from "./bodies/network.ts";
import { scaleSetRules } from "./bodies/scaleSets.ts";
import { secretRules } from "./bodies/secrets.ts";

/** Every rule. A program that breaks none of them can still be refused; one that breaks one of them is. */
export const bodyRules = [...scaleSetRules, ...machineRules, ...networkRules, ...secretRules];

/** Every broken rule of a program, with the resource. */
export function bodyProblems(program: RecordedProgram, rules = bodyRules): readonly string[] {
  return program.resources.flatMap((resource) =>
    rules
      .filter(({ kind }) => resource.type === `azure-native:${kind}`)
      .flatMap(({ title, problem }) => {
        const found = problem(resource.inputs, resource, program);
        return found === undefined ? [] : [`${resource.name}: ${title}: ${found}`];
      }),
  );
}
