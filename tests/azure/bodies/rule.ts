import { userDataBytes } from "../../../components/machine/userDataLimit.ts";
import { cloudFacts } from "../../../components/model/cloudFacts/cloudFacts.ts";
import type { RecordedProgram, RecordedResource } from "../../../plan/program/recorded.ts";
import { listOf, type PropertyMap, textOf } from "../../../plan/program/values.ts";

/** A rule of Azure on request bodies that the types of the SDK do not express. */
export interface BodyRule {
  readonly title: string;
  /** Where the rule is written. */
  readonly source: string;
  /** Kind of resource without the provider: `compute:VirtualMachine`. */
  readonly kind: string;
  /** What is wrong with a body, or `undefined`. */
  readonly problem: (inputs: PropertyMap, resource: RecordedResource, program: RecordedProgram) => string | undefined;
}

/** The problem when there is one. */
export const when = (wrong: boolean, problem: string): string | undefined => (wrong ? problem : undefined);

/** The zones of a resource. */
export const zonesOf = (inputs: PropertyMap): readonly (string | undefined)[] => listOf(inputs.zones).map(textOf);

/** What is wrong with the custom data of a machine. */
export function customDataProblem(osProfile: PropertyMap): string | undefined {
  const text = textOf(osProfile.customData) ?? "";
  if (Buffer.from(text, "base64").toString("base64") !== text || text === "") return "customData is not base64";
  const bytes = userDataBytes(text);
  return when(bytes > cloudFacts.azure.machines.userDataBytes, `customData has ${bytes} bytes`);
}
