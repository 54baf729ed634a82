import { listOf, mapOf, type PropertyValue, resourcesOfType, textOf } from "../../components/gates/values.ts";
import type { RecordedProgram, RecordedResource } from "../program/recorded.ts";
import { AddressPool } from "./identifiers.ts";

export interface SimulatedVolume {
  /** `vol-…`, or the disk's name; none for one that the machine makes itself. */
  readonly id: string | undefined;
  /** `undefined` where the image decides. */
  readonly sizeGib: number | undefined;
  readonly encrypted: boolean;
}

export interface SimulatedGroup {
  readonly name: string;
  /** Fewest, wanted and most machines. */
  readonly min: number;
  readonly desired: number;
  readonly max: number;
  /** Hooks that a machine must answer. */
  readonly launchHooks: readonly string[];
  readonly terminateHooks: readonly string[];
}

export interface SimulatedMachine {
  readonly cloud: "aws" | "azure";
  /** `i-` and 17 hexadecimal digits; on Azure the computer name, also the node's. */
  readonly id: string;
  /** Name of its resource, with its number in a group: `pool-win2022[1]`. */
  readonly name: string;
  /** URN of the instance, group, VM or scale set. */
  readonly urn: string;
  readonly region: string;
  readonly zone: string;
  readonly privateIp: string;
  readonly secondaryIps?: readonly string[];
  readonly size: string;
  /** AMI id, `resolve:ssm:` and a parameter's name, or an image's reference on Azure. */
  readonly image: string;
  /** As the machine reads it, after the API's base64. */
  readonly userData: Buffer;
  /** Command by which the cloud starts `userData`; none where the image's agent does. */
  readonly startCommand: string | undefined;
  /** Role or identity by which it reads secrets. */
  readonly role: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly volumes: readonly SimulatedVolume[];
  readonly group: SimulatedGroup | undefined;
}

export interface ProgramIndex {
  readonly program: RecordedProgram;
  readonly sorted: (type: string) => readonly RecordedResource[];
  /** Azure's ids do not depend on case. */
  readonly find: (id: string | undefined) => RecordedResource | undefined;
  readonly addresses: AddressPool;
  readonly howMany: (group: SimulatedGroup) => number;
  readonly running: readonly SimulatedMachine[];
}

/**
 * @param howMany machines of a group; default its desired count. A plan asks for one of each, also of empty groups.
 * @param running machines that there are already; the new ones of their groups get other numbers and addresses.
 */
export function programIndex(
  program: RecordedProgram,
  howMany: ProgramIndex["howMany"] = ({ desired }) => desired,
  running: readonly SimulatedMachine[] = [],
): ProgramIndex {
  const byId = new Map(
    program.resources.flatMap((resource) => (resource.id === undefined ? [] : [[resource.id.toLowerCase(), resource]])),
  );
  const fixed = program.resources
    .flatMap(({ outputs }) => [
      outputs,
      ...[...listOf(outputs.ipConfigurations), ...listOf(outputs.frontendIPConfigurations)].map(mapOf),
    ])
    .flatMap(({ privateIp, privateIPAddress }) => textOf(privateIp) ?? textOf(privateIPAddress) ?? []);
  return {
    program,
    sorted: (type) => resourcesOfType(program, type).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    find: (id) => byId.get(id?.toLowerCase() ?? ""),
    addresses: new AddressPool([...fixed, ...running.map(({ privateIp }) => privateIp)]),
    howMany,
    running,
  };
}

/** Numbers of a group's new machines, after those that run. */
export function groupNumbers(
  { howMany, running }: ProgramIndex,
  urn: string,
  group: SimulatedGroup,
): readonly number[] {
  const taken = running
    .filter((machine) => machine.urn === urn)
    .map(({ name }) => Number(/\[(\d+)\]$/.exec(name)?.[1] ?? 0));
  const first = Math.max(-1, ...taken) + 1;
  return Array.from({ length: howMany(group) }, (_, place) => first + place);
}

/** A resource by its id. @throws Error where the program did not make it */
export function madeOf({ find }: ProgramIndex, id: PropertyValue | undefined, what: string): RecordedResource {
  const found = find(textOf(id));
  if (found === undefined) throw new Error(`${what} is not a resource of the program`);
  return found;
}

export function textsIn(value: PropertyValue | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(mapOf(value)).map(([key, item]) => [key, textOf(item) ?? ""]));
}

export interface StoredSecret {
  /** Name of the parameter; on Azure the vault's and the secret's. */
  readonly name: string;
  /** ARN or id that policies are checked against. */
  readonly id: string;
  /** `undefined` for the cloud's own. */
  readonly key: string | undefined;
  /** It may be secret: never print it. */
  readonly value: string;
}
