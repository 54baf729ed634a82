import {
  listOf,
  mapOf,
  numberOf,
  type PropertyMap,
  resourcesOfType,
  textOf,
} from "../../../components/gates/resources.ts";
import { addressAt } from "../../../components/model/cidr.ts";
import { awsObjects, collectParameters, statementsOfRole, storedObjects } from "../../../plan/fakes/awsAccess.ts";
import { collectAwsMachines } from "../../../plan/fakes/awsMachines.ts";
import { allows, type PolicyStatement } from "../../../plan/fakes/iam.ts";
import type { SimulatedMachine } from "../../../plan/fakes/machines.ts";
import type { RecordedProgram } from "../../../plan/program/recorded.ts";
import type { CloudCall, CloudSimulation } from "../cloud.ts";
import { awsApi, type StoredParameter } from "./api.ts";
import { awsBalancers } from "./balancers.ts";
import { LifecycleActions, type Refresh } from "./instances.ts";
import { type AwsMachine, awsMetadata, newCredentials, privateDnsName } from "./metadata.ts";
import { signedRequest } from "./sigv4.ts";

/** AWS as the machines of a program see it. */
export function simulateAws(first: RecordedProgram, clusterName: string): CloudSimulation {
  let program = first;
  /** Programs that the update in progress replaces, the newest first: what they made stays until its end. */
  let replaced: readonly RecordedProgram[] = [];
  const programOf = (role = ""): RecordedProgram =>
    [program, ...replaced].find((each) => resourcesOfType(each, "aws:iam/role:Role").some(({ id }) => id === role)) ??
    program;
  const groups = () => resourcesOfType(program, "aws:autoscaling/group:Group");
  const machines = [...collectAwsMachines(program)];
  const region = machines[0]?.region ?? "";
  /** Versions of each group's launch template, by the group's name. */
  const templates = new Map<string, readonly string[]>();
  const templateOf = ({ group, image, size, userData }: SimulatedMachine): number => {
    const content = [image, size, userData.toString("base64")].join(" ");
    const known = templates.get(group?.name ?? "") ?? [];
    if (!known.includes(content)) templates.set(group?.name ?? "", [...known, content]);
    return (templates.get(group?.name ?? "") ?? []).indexOf(content) + 1;
  };
  const refreshes = new Map<string, Refresh>();
  const asMachine = (machine: SimulatedMachine): AwsMachine => ({
    ...asAwsMachine(machine),
    template: templateOf(machine),
  });
  const byAddress = new Map(machines.map((machine) => [machine.privateIp, asMachine(machine)]));
  const parameters = new Map<string, StoredParameter>();
  /** Replaces parameters whose value the program changes; what machines have written to others stays. */
  const makeParameters = (): void => {
    const known = replaced[0] && collectParameters(replaced[0]);
    for (const [name, { id, key, value }] of collectParameters(program))
      if (known?.get(name)?.value !== value)
        parameters.set(name, { arn: id, keyArn: key ?? "", value, version: 1, modified: new Date() });
  };
  makeParameters();
  const statements = new Map<string, readonly PolicyStatement[]>();
  const statementsOf = (role: string): readonly PolicyStatement[] => {
    const known = statements.get(role) ?? statementsOfRole(programOf(role), role);
    statements.set(role, known);
    return known;
  };
  const calls: CloudCall[] = [];
  const objects = new Map(storedObjects(program));
  const lifecycle = new LifecycleActions();
  for (const machine of machines) lifecycle.launch(machine);
  const launch = (machine: SimulatedMachine): void => {
    machines.push(machine);
    lifecycle.launch(machine);
    byAddress.set(machine.privateIp, asMachine(machine));
  };
  const ended: AwsMachine[] = [];
  /** Machines that are gone, whose ids are not given again. */
  const past: SimulatedMachine[] = [];
  const terminate = (machine: SimulatedMachine): void => {
    const gone = byAddress.get(machine.privateIp);
    if (gone !== undefined) ended.push({ ...gone, terminated: true });
    past.push(...machines.splice(machines.indexOf(machine), 1));
    lifecycle.forget(machine);
    byAddress.delete(machine.privateIp);
  };
  const announceEnd = (id: string): void => {
    const machine = machines.find((each) => each.id === id);
    const told = byAddress.get(machine?.privateIp ?? "");
    if (machine === undefined || told === undefined) return;
    told.lifecycleState = "Terminated";
    lifecycle.terminate(machine);
  };
  const endpoints = awsApi({
    ended,
    end: ({ id }) => announceEnd(id),
    region,
    machineAt: (address) => byAddress.get(address),
    machines: () => byAddress.values(),
    authorize: (role, action, resource, context) =>
      allows([{ Statement: statementsOf(role) }], { action, resource, context }),
    parameters,
    objects,
    lifecycle,
    calls,
    refreshes,
    groups: () =>
      groups().map(({ inputs, outputs }) => ({
        name: textOf(outputs.name) ?? "",
        desired: numberOf(inputs.desiredCapacity) ?? 0,
        template: Math.max(1, templates.get(textOf(outputs.name) ?? "")?.length ?? 0),
        tags: new Map(tagsOf(inputs)),
      })),
    groupArn: (name) => textOf(groups().find(({ outputs }) => textOf(outputs.name) === name)?.outputs.arn) ?? "",
  });
  const buckets = resourcesOfType(program, "aws:s3/bucket:Bucket").flatMap(
    ({ outputs }) => textOf(outputs.bucket) ?? [],
  );
  const providerId = (machine: SimulatedMachine): string => `aws:///${machine.zone}/${machine.id}`;
  let replacements = 0;
  return {
    machines,
    replace: (machine) => {
      replacements += 1;
      const successor = { ...machine, id: `i-${replacements.toString(16).padStart(17, "0")}` };
      terminate(machine);
      launch(successor);
      return successor;
    },
    update: (next) => {
      replaced = [program, ...replaced];
      program = next;
      statements.clear();
      makeParameters();
      for (const [key, content] of storedObjects(next)) objects.set(key, content);
      const wanted = collectAwsMachines(next, undefined, [...machines, ...past]);
      for (const machine of wanted) {
        const { name = "" } = machine.group ?? {};
        const versions = templates.get(name)?.length;
        // The provider begins a refresh when a group's template changes (terraform-provider-aws:
        // internal/service/autoscaling/group.go).
        if (templateOf(machine) > (versions ?? 0) && machine.group !== undefined)
          refreshes.set(name, { id: `refresh-${versions}`, status: "InProgress", started: new Date(), reason: "" });
      }
      return wanted;
    },
    // The engine deletes what no program asks for, unless it retains it (pulumi/pulumi 1b594989:
    // pkg/resource/deploy/step.go, DeleteStep).
    endUpdate: () => {
      const [objectsNow, parametersNow] = [storedObjects(program), collectParameters(program)];
      for (const each of replaced) {
        const owned = { ...each, resources: each.resources.filter(({ options }) => options.retainOnDelete !== true) };
        for (const key of storedObjects(owned).keys()) if (!objectsNow.has(key)) objects.delete(key);
        for (const name of collectParameters(owned).keys()) if (!parametersNow.has(name)) parameters.delete(name);
      }
      replaced = [];
      statements.clear();
    },
    launch,
    terminate,
    announceEnd: (machine) => {
      announceEnd(machine.id);
      return () => !lifecycle.waits(machine);
    },
    endRoll: ({ name }) => {
      const refresh = refreshes.get(name);
      if (refresh !== undefined) refreshes.set(name, { ...refresh, status: "Successful", reason: "" });
    },
    metadata: awsMetadata((address) => byAddress.get(address)),
    // Amazon's resolver answers at the network's base plus two (AWS: "DHCP option sets in Amazon VPC").
    nameServer: (network) => addressAt(network, 2),
    hosts: [
      `ssm.${region}.amazonaws.com`,
      `autoscaling.${region}.amazonaws.com`,
      `ec2.${region}.amazonaws.com`,
      `s3.${region}.amazonaws.com`,
      ...buckets.map((bucket) => `${bucket}.s3.${region}.amazonaws.com`),
    ],
    endpoints,
    balancers: awsBalancers(program),
    identity: (machine) => ({ nodeName: machine.id, providerId: providerId(machine) }),
    instance: (machine) => ({
      providerId: providerId(machine),
      zone: machine.zone,
      region: machine.region,
      instanceType: machine.size,
      address: machine.privateIp,
      privateDns: privateDnsName(machine),
      ofCluster: machine.tags[`kubernetes.io/cluster/${clusterName}`] !== undefined,
    }),
    objects: ({ role }) => awsObjects(programOf(role), role, objects),
    readSecret: async (machine, name) => {
      const answer = await endpoints(await getParameter(byAddress.get(machine.privateIp), region, name));
      const body = String(answer.body ?? "");
      if (answer.status !== 200) throw new Error(`${name} for ${machine.id}: ${body}`);
      const parsed: { readonly Parameter: { readonly Value: string } } = JSON.parse(body);
      return parsed.Parameter.Value;
    },
    calls,
    readAction: "ssm:GetParameter",
    secretNames: () => [...parameters.keys()],
    inService: (machine) => Promise.resolve(lifecycle.launched.has(machine.id)),
  };
}

function asAwsMachine(machine: SimulatedMachine): AwsMachine {
  return {
    id: machine.id,
    zone: machine.zone,
    region: machine.region,
    address: machine.privateIp,
    instanceType: machine.size,
    role: machine.role ?? "",
    credentials: newCredentials(),
    tags: machine.tags,
    group: machine.group?.name,
    windows: machine.startCommand !== undefined,
    launched: new Date(),
    lifecycleState: machine.group === undefined ? undefined : "InService",
  };
}

/** The signed request by which a machine's script reads a parameter. */
async function getParameter(machine: AwsMachine | undefined, region: string, name: string) {
  if (machine === undefined) throw new Error("there is no such machine");
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": "AmazonSSM.GetParameter" };
  const body = JSON.stringify({ Name: name, WithDecryption: true });
  const signed = await signedRequest(machine.credentials, region, { service: "ssm", headers, body });
  return { ...signed, caller: machine.address };
}

function tagsOf({ tags }: PropertyMap): readonly (readonly [string, string])[] {
  return listOf(tags).map((tag) => [textOf(mapOf(tag).key) ?? "", textOf(mapOf(tag).value) ?? ""]);
}
