export interface SimulatedVolume {
  /** `vol-…`, or the name of the disk; `undefined` for one that the machine makes itself. */
  readonly id: string | undefined;
  /** Size in GiB; `undefined` where the image decides. */
  readonly sizeGib: number | undefined;
  readonly encrypted: boolean;
}

/** The group that a machine belongs to, which makes it and takes it away. */
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

/** A machine as a cloud would run it, with exactly what it was given. */
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
  /** Further addresses of its interface. Default none. */
  readonly secondaryIps?: readonly string[];
  /** Machine size: `m7i.large`. */
  readonly size: string;
  /** AMI id, `resolve:ssm:` and a parameter's name, or an image's reference on Azure. */
  readonly image: string;
  /** The bytes that the machine reads as its user data or customData: base64 of the API taken off. */
  readonly userData: Buffer;
  /** Command by which the cloud starts what `userData` holds; `undefined` where an agent of the image does so by itself. */
  readonly startCommand: string | undefined;
  /** Name of the role or identity by which it reads secrets; none when it has none. */
  readonly role: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly volumes: readonly SimulatedVolume[];
  readonly group: SimulatedGroup | undefined;
}

/** Number of the next machine of a group, by those that it has. */
export function nextNumber(urn: string, running: readonly SimulatedMachine[]): number {
  const numbers = running.filter((machine) => machine.urn === urn).map(({ name }) => Number(/\[(\d+)\]$/.exec(name)?.[1] ?? 0));
  return Math.max(-1, ...numbers) + 1;
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
