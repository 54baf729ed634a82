import { type RecordedProgram, type RecordedResource, resourcesOfType } from "../program/recorded.ts";
import { listOf, mapOf, type PropertyValue, textOf } from "../program/values.ts";
import { AddressPool } from "./addresses.ts";

export interface SimulatedVolume {
  /** `vol-…`, or the name of the disk; `undefined` for one that the machine makes itself. */
  readonly id: string | undefined;
  /** Size in GiB; `undefined` where the image decides. */
  readonly sizeGib: number | undefined;
  readonly encrypted: boolean;
}

/** The group that makes a machine and takes it away. */
export interface SimulatedGroup {
  readonly name: string;
  /** Fewest, wanted and most machines. */
  readonly min: number;
  readonly desired: number;
  readonly max: number;
  /** Hooks that a machine must answer, by the transition. */
  readonly launchHooks: readonly string[];
  readonly terminateHooks: readonly string[];
}

export interface SimulatedMachine {
  readonly cloud: "aws" | "azure";
  /** `i-` and 17 hexadecimal digits; the computer name on Azure, which is also the node's name. */
  readonly id: string;
  /** Logical name of the resource it comes from, with its number in a group: `pool-win2022[1]`. */
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
  /** User data or customData as the machine reads it, after the API's base64. */
  readonly userData: Buffer;
  /** Command by which the cloud starts `userData`; `undefined` where the image's agent does so. */
  readonly startCommand: string | undefined;
  /** Role or identity by which it reads secrets, if any. */
  readonly role: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly volumes: readonly SimulatedVolume[];
  readonly group: SimulatedGroup | undefined;
}

export interface ProgramIndex {
  readonly program: RecordedProgram;
  readonly sorted: (type: string) => readonly RecordedResource[];
  /** The resource of an id; Azure's ids do not depend on case. */
  readonly find: (id: string | undefined) => RecordedResource | undefined;
  readonly addresses: AddressPool;
  readonly howMany: (group: SimulatedGroup) => number;
  readonly running: readonly SimulatedMachine[];
}

/**
 * @param howMany machines of a group; default its desired count. A plan asks for one of each, also of empty groups.
 * @param running machines that there are already: others of a group get numbers and addresses of their own.
 */
export function programIndex(
  program: RecordedProgram,
  howMany: ProgramIndex["howMany"] = ({ desired }) => desired,
  running: readonly SimulatedMachine[] = [],
): ProgramIndex {
  const byId = new Map(
    program.resources.flatMap((resource) => (resource.id === undefined ? [] : [[resource.id.toLowerCase(), resource]])),
  );
  // Addresses that network interfaces and load balancers have.
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

/** Numbers of the machines of a group, after those that it has. */
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

export function textsIn(value: PropertyValue | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(mapOf(value)).map(([key, item]) => [key, textOf(item) ?? ""]));
}

export interface StoredSecret {
  /** Name of the parameter; vault and name on Azure. */
  readonly name: string;
  /** ARN or id, against which policies are checked. */
  readonly id: string;
  /** ARN or id of the key that encrypts it; `undefined` for the cloud's own. */
  readonly key: string | undefined;
  /** The value; it may be secret, so never print it. */
  readonly value: string;
}
