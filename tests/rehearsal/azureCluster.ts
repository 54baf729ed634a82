import assert from "node:assert/strict";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { mapOf, type PropertyMap, textOf } from "../../plan/program/values.ts";
import { runStack } from "../support/mocks.ts";

const { program: recorded } = await runStack("azure-dev");

/** Resource group of the example, with capitals, which Azure takes as well. */
export const group = "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/Fenestra-Azure-Dev";

/** Changes the inputs of a resource, by its name without the stack's: a negative control breaks one of them. */
export type Changes = Readonly<Record<string, (inputs: PropertyMap) => PropertyMap>>;

/** The program of azure-dev: one control-plane machine, two Linux workers, two Windows workers of each of two releases. */
export function azureCluster(changes: Changes = {}): RecordedProgram {
  const resources = recorded.resources.map((resource) => {
    const inputs = changes[resource.name.replace("azure-dev-", "")]?.(resource.inputs);
    if (inputs === undefined) return resource;
    // These are read as Azure returns them.
    return {
      ...resource,
      inputs,
      outputs: resource.type.match(/:(LoadBalancer|Subnet)$/) ? { ...resource.outputs, ...inputs } : resource.outputs,
    };
  });
  return { ...recorded, resources };
}

/** An output of a resource, by the resource's name without the stack's. */
export function outputOf(name: string, key: string): string {
  const found = azureCluster().resources.find((each) => each.name === `azure-dev-${name}` && each.outputs[key] !== undefined);
  return textOf(found?.outputs[key]) ?? assert.fail(`${name} has no ${key}`);
}

/** Changes one property deep inside: `inside({ a: { b: 1 } }, ["a", "b"], 2)`. */
export function inside(value: PropertyMap, path: readonly string[], changed: PropertyMap[string]): PropertyMap {
  const [key = "", ...rest] = path;
  return { ...value, [key]: rest.length === 0 ? changed : inside(mapOf(value[key]), rest, changed) };
}
