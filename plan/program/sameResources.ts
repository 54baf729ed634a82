import type { RecordedProgram } from "./recorded.ts";

/** What one run registered and the other did not, as `type name`. */
export interface ResourceDifference {
  readonly onlyUnknown: readonly string[];
  readonly onlyKnown: readonly string[];
}

/**
 * Compares a first preview (outputs unknown) with an update (outputs known) by type and name of every resource. They must be equal: a
 * resource that depends on a value that only the cloud knows would be in no preview.
 */
function resourceDifference(unknownRun: RecordedProgram, knownRun: RecordedProgram): ResourceDifference {
  const names = (program: RecordedProgram) => program.resources.map(({ type, name }) => `${type} ${name}`);
  const before = new Set(names(unknownRun));
  const after = new Set(names(knownRun));
  return {
    onlyUnknown: [...before].filter((name) => !after.has(name)).sort(),
    onlyKnown: [...after].filter((name) => !before.has(name)).sort(),
  };
}

/** The two runs of a program do not make the same resources. */
export class ShapeError extends Error {
  readonly difference: ResourceDifference;

  constructor(difference: ResourceDifference) {
    super(
      [
        "Preview and update register different resources:",
        ...difference.onlyUnknown.map((name) => `  only while outputs are unknown: ${name}`),
        ...difference.onlyKnown.map((name) => `  only once outputs are known:    ${name}`),
        "Decide what is made by plain values of the config, and never inside apply.",
      ].join("\n"),
    );
    this.name = "ShapeError";
    this.difference = difference;
  }
}

/** @throws ShapeError that names the difference. */
export function requireSameResources(unknownRun: RecordedProgram, knownRun: RecordedProgram): void {
  const difference = resourceDifference(unknownRun, knownRun);
  if (difference.onlyKnown.length > 0 || difference.onlyUnknown.length > 0) throw new ShapeError(difference);
}
