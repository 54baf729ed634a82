import { readFileSync } from "node:fs";
import { z } from "zod";
import type { ExtraArgs } from "../config/flagSchema.ts";

export type ControlPlaneProgram = keyof ExtraArgs;

export const controlPlanePrograms = {
  apiServer: "kube-apiserver",
  controllerManager: "kube-controller-manager",
  scheduler: "kube-scheduler",
  etcd: "etcd",
} as const satisfies Record<ControlPlaneProgram, string>;

/** What the value of a flag must look like; `value` is anything. */
export const flagKinds = {
  bool: /^(?:true|false)$/,
  duration: /^-?(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+$|^0$/,
  float: /^-?\d+(?:\.\d+)?$/,
  int: /^-?\d+$/,
  value: /^/,
} as const;

/** Names, parted by spaces. */
const names = z.string().transform((text): readonly string[] => text.match(/\S+/g) ?? []);
const programSchema = z.strictObject({
  program: z.enum(Object.values(controlPlanePrograms)),
  minor: z.string(),
  version: z.string(),
  /** Feature gates that may be set: not those that are locked or gone. */
  gates: names,
  flags: z.strictObject({ bool: names, duration: names, float: names, int: names, value: names }),
});

export type ProgramFlags = z.output<typeof programSchema>;

/** The data file, written by `tools/flags/controlPlane.ts`. */
export const programFlagsFile = new URL("programFlags.json", import.meta.url);

/** What was recorded of every minor. */
export function readProgramFlags(): readonly ProgramFlags[] {
  return z.array(programSchema).parse(JSON.parse(readFileSync(programFlagsFile, "utf8")));
}

/**
 * Feature gates that a kubelet of the minor lets one set: those that all its programs have in common (kubernetes/kubernetes, pkg/features).
 */
export function kubeletGates(all: readonly ProgramFlags[], minor: string): readonly string[] {
  const [first, ...others] = all.filter((each) => each.minor === minor && each.program !== "etcd");
  return (first?.gates ?? []).filter((gate) => others.every(({ gates }) => gates.includes(gate)));
}
