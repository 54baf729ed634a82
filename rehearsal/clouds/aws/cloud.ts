import {
  listOf,
  mapOf,
  numberOf,
  type PropertyMap,
  resourcesOfType,
  textOf,
} from "../../../components/gates/values.ts";
import { addressAt } from "../../../components/model/cidr.ts";
import {
  allows,
  awsObjects,
  collectParameters,
  type PolicyStatement,
  statementsOfRole,
  storedObjects,
} from "../../../plan/fakes/awsAccess.ts";
import { collectAwsMachines } from "../../../plan/fakes/awsMachines.ts";
import type { SimulatedMachine } from "../../../plan/fakes/machines.ts";
import type { RecordedProgram, RecordedResource } from "../../../plan/program/recorded.ts";
import type { HealthRules } from "../../host/loadBalancer.ts";
import type { CloudCall, CloudSimulation, SimulatedBalancer } from "../cloud.ts";
import { awsApi, type StoredParameter } from "./api.ts";
import { type AwsGroup, LifecycleActions, type Refresh } from "./instances.ts";
import { type AwsMachine, awsMetadata, newCredentials, privateDnsName } from "./metadata.ts";
import { signedRequest } from "./sigv4.ts";

/** AWS as the machines of a program see it. */
export function simulateAws(program: RecordedProgram, clusterName: string): CloudSimulation {
  const [programs, fleet] = [new Programs(program), new Fleet(program)];
  const { machines, lifecycle, refreshes } = fleet;
  const machineAt = (address: string): AwsMachine | undefined => fleet.byAddress.get(address);
  const region = machines[0]?.region ?? "";
  const calls: CloudCall[] = [];
  const endpoints = awsApi({
    ...{ region, machineAt, calls, lifecycle, refreshes, ended: fleet.ended },
    ...{ parameters: programs.parameters, objects: programs.objects },
    machines: () => fleet.byAddress.values(),
    authorize: (...asked) => programs.allow(...asked),
    groups: () => programs.groups.map((group) => ({ ...group, template: fleet.templateOf(group.name) })),
  });
  const buckets = resourcesOfType(program, "aws:s3/bucket:Bucket").flatMap(
    ({ outputs }) => textOf(outputs.bucket) ?? [],
  );
  const services = ["ssm", "autoscaling", "ec2", ...buckets.map((bucket) => `${bucket}.s3`)];
  const providerId = (machine: SimulatedMachine) => `aws:///${machine.zone}/${machine.id}`;
  return {
    ...{ machines, endpoints, calls, readAction: "ssm:GetParameter" },
    replace: (machine) => fleet.replace(machine),
    update: (next) => {
      programs.update(next);
      return fleet.update(next);
    },
    endUpdate: () => programs.endUpdate(),
    launch: (machine) => fleet.launch(machine),
    terminate: (machine) => fleet.terminate(machine),
    announceEnd: (machine) => fleet.announceEnd(machine),
    endRoll: ({ name }) => {
      const refresh = refreshes.get(name);
      if (refresh !== undefined) refreshes.set(name, { ...refresh, status: "Successful" });
    },
    metadata: awsMetadata(machineAt),
    // Amazon's resolver answers at the network's base plus two (AWS: "DHCP option sets in Amazon VPC").
    nameServer: (network) => addressAt(network, 2),
    hosts: services.map((service) => `${service}.${region}.amazonaws.com`),
    balancers: awsBalancers(program),
    identity: (machine) => ({ nodeName: machine.id, providerId: providerId(machine) }),
    instance: (machine) => ({
      ...{ providerId: providerId(machine), zone: machine.zone, region: machine.region },
      ...{ instanceType: machine.size, address: machine.privateIp, privateDns: privateDnsName(machine) },
      ofCluster: machine.tags[`kubernetes.io/cluster/${clusterName}`] !== undefined,
    }),
    objects: ({ role }) => awsObjects(programs.of(role), role, programs.objects),
    readSecret: async (machine, name) => {
      const answer = await endpoints(await getParameter(machineAt(machine.privateIp), region, name));
      const body = String(answer.body ?? "");
      if (answer.status !== 200) throw new Error(`${name} for ${machine.id}: ${body}`);
      const parsed: { readonly Parameter: { readonly Value: string } } = JSON.parse(body);
      return parsed.Parameter.Value;
    },
    secretNames: () => [...programs.parameters.keys()],
  };
}

/** What programs have made but machines: what an update replaces stays until its end. */
class Programs {
  /** The newest first. */
  #all: readonly [RecordedProgram, ...RecordedProgram[]];
  readonly #statements = new Map<string, readonly PolicyStatement[]>();
  readonly parameters = new Map<string, StoredParameter>();
  /** By `bucket/key`. */
  readonly objects = new Map<string, Buffer>();

  constructor(first: RecordedProgram) {
    this.#all = [first];
    this.#make(first);
  }

  get groups(): readonly Omit<AwsGroup, "template">[] {
    return resourcesOfType(this.#all[0], "aws:autoscaling/group:Group").map(({ inputs, outputs }) => ({
      name: textOf(outputs.name) ?? "",
      arn: textOf(outputs.arn) ?? "",
      desired: numberOf(inputs.desiredCapacity) ?? 0,
      tags: new Map(listOf(inputs.tags).map((tag) => [textOf(mapOf(tag).key) ?? "", textOf(mapOf(tag).value) ?? ""])),
    }));
  }

  /** The program that has made a role. */
  of(role = ""): RecordedProgram {
    const made = (each: RecordedProgram) => resourcesOfType(each, "aws:iam/role:Role").some(({ id }) => id === role);
    return this.#all.find(made) ?? this.#all[0];
  }

  allow(role = "", action: string, resource: string, context: Readonly<Record<string, string>>): boolean {
    const statements = this.#statements.get(role) ?? statementsOfRole(this.of(role), role);
    this.#statements.set(role, statements);
    return allows([{ Statement: statements }], { action, resource, context });
  }

  update(next: RecordedProgram): void {
    this.#make(next, this.#all[0]);
    this.#all = [next, ...this.#all];
  }

  /**
   * The engine deletes what no program asks for, unless it retains it (pulumi/pulumi 1b594989:
   * pkg/resource/deploy/step.go, DeleteStep).
   */
  endUpdate(): void {
    const [now, ...replaced] = this.#all;
    const [objects, parameters] = [storedObjects(now), collectParameters(now)];
    for (const each of replaced) {
      const owned = { ...each, resources: each.resources.filter(({ options }) => options.retainOnDelete !== true) };
      for (const key of storedObjects(owned).keys()) if (!objects.has(key)) this.objects.delete(key);
      for (const name of collectParameters(owned).keys()) if (!parameters.has(name)) this.parameters.delete(name);
    }
    this.#all = [now];
    this.#statements.clear();
  }

  /** Replaces parameters whose value the program changes; what machines have written to others stays. */
  #make(program: RecordedProgram, before?: RecordedProgram): void {
    this.#statements.clear();
    const known = before && collectParameters(before);
    for (const [name, { id, key, value }] of collectParameters(program))
      if (known?.get(name)?.value !== value)
        this.parameters.set(name, { arn: id, keyArn: key ?? "", value, version: 1, modified: new Date() });
    for (const [key, content] of storedObjects(program)) this.objects.set(key, content);
  }
}

/** The machines. */
class Fleet {
  readonly machines: SimulatedMachine[];
  readonly byAddress = new Map<string, AwsMachine>();
  readonly lifecycle = new LifecycleActions();
  readonly refreshes = new Map<string, Refresh>();
  readonly ended: AwsMachine[] = [];
  /** Those that are gone, whose ids are not given again. */
  readonly #past: SimulatedMachine[] = [];
  /** Versions of each group's launch template, by the group's name. */
  readonly #templates = new Map<string, readonly string[]>();
  #replacements = 0;

  constructor(program: RecordedProgram) {
    this.machines = [...collectAwsMachines(program)];
    for (const machine of this.machines) this.#begin(machine);
  }

  /** Newest version of a group's template. */
  templateOf(group: string): number {
    return this.#templates.get(group)?.length ?? 1;
  }

  launch(machine: SimulatedMachine): void {
    this.machines.push(machine);
    this.#begin(machine);
  }

  terminate(machine: SimulatedMachine): void {
    const gone = this.byAddress.get(machine.privateIp);
    if (gone !== undefined) this.ended.push({ ...gone, terminated: true });
    this.#past.push(...this.machines.splice(this.machines.indexOf(machine), 1));
    this.byAddress.delete(machine.privateIp);
  }

  announceEnd(machine: SimulatedMachine): () => boolean {
    const told = this.byAddress.get(machine.privateIp);
    if (told !== undefined) told.lifecycleState = "Terminated";
    this.lifecycle.terminate(machine);
    return () => !this.lifecycle.waits(machine);
  }

  replace(machine: SimulatedMachine): SimulatedMachine {
    this.#replacements += 1;
    const successor = { ...machine, id: `i-${this.#replacements.toString(16).padStart(17, "0")}` };
    this.terminate(machine);
    this.launch(successor);
    return successor;
  }

  update(next: RecordedProgram): readonly SimulatedMachine[] {
    const wanted = collectAwsMachines(next, undefined, [...this.machines, ...this.#past]);
    for (const machine of wanted) {
      const { name = "" } = machine.group ?? {};
      const versions = this.#templates.get(name)?.length ?? 0;
      // The provider begins a refresh when a group's template changes (terraform-provider-aws:
      // internal/service/autoscaling/group.go).
      if (this.#versionOf(machine) > versions && machine.group !== undefined)
        this.refreshes.set(name, { id: `refresh-${versions}`, status: "InProgress", started: new Date() });
    }
    return wanted;
  }

  #begin(machine: SimulatedMachine): void {
    this.lifecycle.launch(machine);
    this.byAddress.set(machine.privateIp, {
      ...machine,
      credentials: newCredentials(),
      windows: /^<powershell>/m.test(machine.userData.toString()),
      launched: new Date(),
      lifecycleState: machine.group === undefined ? undefined : "InService",
      template: this.#versionOf(machine),
    });
  }

  #versionOf({ group, image, size, userData }: SimulatedMachine): number {
    const content = [image, size, userData.toString("base64")].join(" ");
    const known = this.#templates.get(group?.name ?? "") ?? [];
    const all = known.includes(content) ? known : [...known, content];
    this.#templates.set(group?.name ?? "", all);
    return all.indexOf(content) + 1;
  }
}

/** The signed request by which a machine's script reads a parameter. */
async function getParameter(machine: AwsMachine | undefined, region: string, name: string) {
  if (machine === undefined) throw new Error("there is no such machine");
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": "AmazonSSM.GetParameter" };
  const body = JSON.stringify({ Name: name, WithDecryption: true });
  const signed = await signedRequest(machine.credentials, region, { service: "ssm", headers, body });
  return { ...signed, caller: machine.privateIp };
}

/** The network load balancers of a program, one per listener. */
function awsBalancers(program: RecordedProgram): readonly SimulatedBalancer[] {
  const listeners = resourcesOfType(program, "aws:lb/listener:Listener");
  const groups = new Map(
    resourcesOfType(program, "aws:lb/targetGroup:TargetGroup").map((group) => [textOf(group.outputs.arn) ?? "", group]),
  );
  return resourcesOfType(program, "aws:lb/loadBalancer:LoadBalancer").flatMap((balancer) =>
    listeners
      .filter(({ inputs }) => textOf(inputs.loadBalancerArn) === textOf(balancer.outputs.arn))
      .map((listener) => simulatedBalancer(program, balancer, listener, groups)),
  );
}

function simulatedBalancer(
  program: RecordedProgram,
  balancer: RecordedResource,
  listener: RecordedResource,
  groups: ReadonlyMap<string, RecordedResource>,
): SimulatedBalancer {
  const arn = textOf(mapOf(listOf(listener.inputs.defaultActions)[0]).targetGroupArn) ?? "";
  const group = groups.get(arn);
  const targets = resourcesOfType(program, "aws:lb/targetGroupAttachment:TargetGroupAttachment")
    .filter(({ inputs }) => textOf(inputs.targetGroupArn) === arn)
    .map(({ inputs }) => ({
      host: textOf(inputs.targetId) ?? "",
      port: numberOf(inputs.port) ?? numberOf(group?.inputs.port) ?? 0,
    }));
  const settings: PropertyMap = group?.inputs ?? {};
  const check = mapOf(settings.healthCheck);
  if (textOf(check.protocol) !== "HTTPS") throw new Error(`${group?.name}: its health check is not HTTPS`);
  return {
    dnsName: textOf(balancer.outputs.dnsName) ?? "",
    port: numberOf(listener.inputs.port) ?? 0,
    targets,
    health: healthRules(check),
    // A target that is sent back to itself, with its own address as the sender's, gets no answer (Elastic Load
    // Balancing, Network Load Balancers: "Client IP preservation", with the defaults; "Troubleshoot").
    answersTargets: (textOf(settings.preserveClientIp) ?? String(textOf(settings.targetType) !== "ip")) === "false",
  };
}

/** Defaults as the provider documents them for HTTPS checks (pulumi-aws: TargetGroupHealthCheck). */
function healthRules(check: PropertyMap): HealthRules {
  return {
    endsConnections: true,
    answerDecides: false,
    ...(Number(check.port) > 0 && { port: Number(check.port) }),
    path: textOf(check.path) ?? "/",
    timeoutMs: (numberOf(check.timeout) ?? 10) * 1000,
    healthyThreshold: numberOf(check.healthyThreshold) ?? 3,
    unhealthyThreshold: numberOf(check.unhealthyThreshold) ?? 3,
    failsOpen: true,
  };
}
