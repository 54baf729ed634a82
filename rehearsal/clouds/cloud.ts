import type { Cidr } from "../../components/model/cidr.ts";
import type { ObjectStore } from "../../plan/decode/userData.ts";
import type { SimulatedGroup, SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import type { HealthRules } from "../host/loadBalancer.ts";
import type { BootIdentity } from "../machines/windowsMachine.ts";
import type { EndpointHandler } from "./server.ts";

/** A machine's call to its cloud's API, for the checks. */
export interface CloudCall {
  readonly machine: string;
  /** In the cloud's own words: `ssm:GetParameter`, `Microsoft.KeyVault/vaults/secrets/getSecret/action`. */
  readonly action: string;
  /** ARN or resource id. */
  readonly resource: string;
  /** Whether the rights of the machine's identity allow it. */
  readonly allowed: boolean;
}

export interface CloudInstance {
  readonly providerId: string;
  readonly zone: string;
  readonly region: string;
  readonly instanceType: string;
  readonly address: string;
  /** Private DNS name, which AWS's cloud controller writes into the Node. */
  readonly privateDns?: string;
  /** Whether it carries the tag by which the cloud controller knows the cluster's instances. */
  readonly ofCluster: boolean;
}

export interface SimulatedBalancer {
  readonly dnsName: string;
  readonly port: number;
  readonly targets: readonly { readonly host: string; readonly port: number }[];
  readonly health: HealthRules;
  /** Whether its own targets reach it too; else their payload must resolve its name to themselves. */
  readonly answersTargets: boolean;
}

/** Name of the join secret of a machine's pool: a parameter below `join`, or a secret with the pool in its name. */
export function joinSecretName(
  { secretNames }: Pick<CloudSimulation, "secretNames">,
  { group }: SimulatedMachine,
): string {
  const found = secretNames().flatMap((name) => {
    const [, parameter, secret = parameter] = /\/join(?:\/(.+)|-(.+)-.{8})$/.exec(name) ?? [];
    return secret !== undefined && group?.name.endsWith(`-${secret}`) === true ? [{ name, pool: secret }] : [];
  });
  const [own] = found.toSorted((a, b) => b.pool.length - a.pool.length);
  if (own === undefined) throw new Error(`there is no join secret of ${group?.name}`);
  return own.name;
}

/** A simulated cloud: what machines talk to, made from what the program registered. */
export interface CloudSimulation {
  readonly machines: readonly SimulatedMachine[];
  /**
   * Replaces a machine as the cloud does: same address, zone and disks, another instance. The old one leaves
   * `machines`, a live list.
   */
  readonly replace: (machine: SimulatedMachine) => SimulatedMachine;
  /**
   * Gives the cloud the objects, rights and templates of another program.
   * @returns the machines that it asks for; new ones run from `launch` on
   */
  readonly update: (program: RecordedProgram) => readonly SimulatedMachine[];
  /** Ends an update: what it has replaced is gone. */
  readonly endUpdate: () => void;
  readonly launch: (machine: SimulatedMachine) => void;
  readonly terminate: (machine: SimulatedMachine) => void;
  /** Announces its end to a machine of a group. @returns whether it has said by now that it may go */
  readonly announceEnd: (machine: SimulatedMachine) => () => boolean;
  /** Ends the replacement of a group's machines of an older template. */
  readonly endRoll: (group: SimulatedGroup) => void;
  /** The instance metadata service at 169.254.169.254. */
  readonly metadata: EndpointHandler;
  /** Another address at which the platform answers machines over HTTP, if it has one. */
  readonly platform?: { readonly address: string; readonly handle: EndpointHandler };
  /** A network's name server, by its DHCP. */
  readonly nameServer: (network: Cidr) => string;
  /** Names of the cloud's own TLS endpoints. */
  readonly hosts: readonly string[];
  readonly endpoints: EndpointHandler;
  readonly balancers: readonly SimulatedBalancer[];
  readonly identity: (machine: SimulatedMachine) => BootIdentity;
  /** What the cloud controller would find of a machine. */
  readonly instance: (machine: SimulatedMachine) => CloudInstance;
  /** A machine's object store, by its identity. */
  readonly objects: (machine: SimulatedMachine) => ObjectStore;
  /**
   * Reads a secret by a machine's identity through the simulated endpoints, as its scripts would. @throws Error when
   * refused
   */
  readonly readSecret: (machine: SimulatedMachine, name: string, clientId?: string) => Promise<string>;
  readonly calls: readonly CloudCall[];
  /** Action by which machines read a secret. */
  readonly readAction: string;
  readonly secretNames: () => readonly string[];
}
