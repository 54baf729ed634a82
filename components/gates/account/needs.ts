import { type KnownResource, listOf, type PropertyValue, type Resources, textOf } from "../values.ts";
import { doubtful, notAsked, type Objection, type QuotaNeed, refused, shortOf } from "./question.ts";

/** A machine, or those of one pool. */
export interface MachineNeed {
  /** Where its settings are in the stack file. */
  readonly setting: string;
  /** Any of them will do. */
  readonly sizes: readonly string[];
  /** How many at first, how many more while it rolls, and how many at most. */
  readonly count: number;
  readonly surge: number;
  readonly most: number;
  readonly spot: boolean;
  readonly zones: readonly string[];
  readonly diskGib: number;
}

export interface Needs<Machine extends MachineNeed = MachineNeed> {
  readonly cluster: string;
  readonly region: string;
  /** Account or subscription; documentation's where the stack file names none. */
  readonly accountId: string;
  readonly program: Resources;
  readonly machines: readonly Machine[];
  /** Networks that may reach the public API, if there is one. */
  readonly publicAccess: readonly string[] | undefined;
  /** Networks that reach it inside. */
  readonly privateAccess: readonly string[];
  /** The call that anybody may send. */
  readonly greeting: readonly [right: string, path?: string];
  readonly asker: Asker;
  readonly clock: Clock;
  /** The one machine that goes for the needed one: all else stays. */
  readonly goes?: string | undefined;
}

export type NeedsOf<All extends Needs> = Omit<All, "asker" | "clock" | "goes">;

export interface Asker {
  /** ARN of a role, or object id, of whoever deploys instead. */
  readonly deployer?: string;
  /** Whether the stack has nothing yet, so that all of its cluster's name is another's. */
  readonly first?: boolean;
  /** This machine's address on the internet, where known. */
  readonly address?: string;
  /** Addresses of this machine. */
  readonly local: readonly string[];
}

/** `fenestra:pools, pool linux` of `aws-dev-pool-linux-group`. */
export function settingOf(resource: string): string {
  const [, pool] = /-pool-(.+)-(?:group|template)$/.exec(resource) ?? [];
  return pool === undefined ? "fenestra:controlPlane" : `fenestra:pools, pool ${pool}`;
}

export function made<Resource extends KnownResource>(
  { resources }: Resources<Resource>,
  type: string,
): readonly Resource[] {
  return resources.filter((each) => each.type === type && each.read === undefined);
}

export const texts = (list: PropertyValue | undefined): readonly string[] =>
  listOf(list).flatMap((each) => textOf(each) ?? []);

/** Tells whether a program names a machine or pool so, in any case: what it no longer names goes after all else is made. */
export function namesOf({ resources }: Resources): (name?: string) => boolean {
  const names = resources.map(({ inputs: { tags, vmScaleSetName, vmName } }) => [tags, vmScaleSetName, vmName]);
  const written = JSON.stringify(names).toLowerCase();
  return (name = "") => written.includes(`"${name.toLowerCase()}"`);
}

/** What a quota lacks of the cores of machines, at first, while pools roll, and at most. @param cloud which tells sizes */
export function* coresShort<Machine extends MachineNeed>(
  cloud: string,
  machines: readonly Machine[],
  coresOf: (machine: Machine) => number,
  need: Omit<QuotaNeed, "counts">,
): Generator<Objection> {
  const unknown = machines.find((each) => !(coresOf(each) > 0));
  if (unknown !== undefined) {
    yield notAsked(`${cloud} tells no vCPUs of ${unknown.sizes.join(", ")}`);
    return;
  }
  const total = (count: (machine: Machine) => number): number =>
    machines.reduce((sum, each) => sum + coresOf(each) * count(each), 0);
  const settings = machines.map(({ setting }) => setting).join("; ");
  yield* shortOf({
    ...need,
    counts: [
      total(({ count }) => count),
      total(({ count, surge }) => count + surge),
      total(({ count, surge, most }) => Math.max(most, count + surge)),
    ],
    raise: (limit) => `${need.raise(limit)}, or fewer or smaller machines in ${settings}`,
  });
}

export function* diskOf(image: string, gib: number, { setting, diskGib }: MachineNeed): Generator<Objection> {
  if (diskGib > 0 && gib > diskGib)
    yield refused(`the image ${image} needs a disk of ${gib} GiB, not ${diskGib}`, `diskGb: ${gib} in ${setting}`);
}

/** Objects where a pool has one zone only. */
export function* oneZone({ setting, zones, spot }: MachineNeed): Generator<Objection> {
  if (zones.length === 1 && (spot || setting !== "fenestra:controlPlane"))
    yield doubtful(`${setting} has one zone: what is offered may still be sold out there`, `more zones in ${setting}`);
}

/** Where the program's cloud is. */
export interface Place {
  readonly region: string;
  readonly accountId: string;
}

/** Keeps the greatest distance of a server's clock from ours, in milliseconds. */
export class Clock {
  skewMs = 0;

  // A server's time has steps of a second, and answers take time.
  readonly see = (server: Date): void => {
    const skew = server.getTime() - Date.now();
    if (Math.abs(skew) > Math.abs(this.skewMs)) this.skewMs = skew;
  };
}
