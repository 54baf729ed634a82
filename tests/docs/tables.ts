import { controlPlaneParameters, joinParameter } from "../../components/aws/parameterNames.ts";
import {
  autoscalerPolicy,
  cloudControllerPolicy,
  controlPlanePolicy,
  ebsDriverPolicy,
  scriptsArn,
  workerPolicy,
} from "../../components/aws/policies.ts";
import type { PolicyDocument, PolicyScope, Statement } from "../../components/aws/policyDocument.ts";
import { type SecurityRule as AwsRule, securityRules as awsRules } from "../../components/aws/securityRules.ts";
import { roles } from "../../components/azure/roles.ts";
import { type SecurityRule as AzureRule, securityRules as azureRules } from "../../components/azure/securityRules.ts";
import { alerts } from "../../components/kubernetes/addOns/exporters.ts";
import {
  controlPlaneStages,
  credentialsStage,
  encryptedStage,
  encryptionStage,
  linuxWorkerStages,
  scriptsStage,
  trustStage,
  withCredentials,
} from "../../components/machine/linux/stages.ts";
import { windowsStages } from "../../components/machine/windows/stages.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import type { Stage } from "../../components/model/machineParts.ts";
import { groupName } from "../../components/model/pools.ts";
import { reservedFlagRows } from "../../components/model/reservedFlags.ts";
import { podNetworks } from "../../components/podNetworks/podNetworks.ts";
import type { Plan } from "../../plan/plan.ts";
import { cisRows } from "./cis.ts";

/** Rows of a Markdown table under its head. Bars in cells are escaped. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line), ""].join("\n");
}

/** Alerts, with the sections that say what to do. */
export function alertsTable(): string {
  return markdownTable(
    ["Alert", "While", "Minutes", "Section"],
    alerts.map(({ name, expression, minutes, section, link }) => [name, lines([expression]), String(minutes), `[${section}](${link})`]),
  );
}

/** The benchmark of the CIS, item by item. */
export function cisTable(): string {
  return markdownTable(
    ["Item", "Asks for", "Here"],
    cisRows.map(({ items, asks, verdict, why }) => [items, asks, why === undefined ? verdict : `${verdict}: ${why}`]),
  );
}

/** Every rule of the security groups on AWS, for a cluster with a public endpoint. */
export function awsPortsTable(spec: ClusterSpec): string {
  const peer = ({ peer: other }: AwsRule) => ("group" in other ? other.group : other.cidr);
  return markdownTable(
    ["Group", "Direction", "Other end", "Protocol", "Ports", "Purpose"],
    awsRules(spec).map((rule) => [
      rule.group,
      rule.direction === "ingress" ? "in" : "out",
      peer(rule),
      rule.protocol,
      rule.ports === undefined ? "all" : [...new Set(rule.ports)].join("-"),
      rule.purpose,
    ]),
  );
}

/** Every rule of the network security groups on Azure, for a cluster with a public endpoint. */
export function azurePortsTable(spec: ClusterSpec): string {
  const peer = ({ peer: other }: AzureRule) =>
    "group" in other ? other.group : "cidrs" in other ? other.cidrs.join(", ") : other.tag === "*" ? "any" : other.tag;
  return markdownTable(
    ["Group", "Priority", "Access", "From", "Protocol", "Ports", "Purpose"],
    azureRules(spec).map((rule) => [
      rule.group,
      String(rule.priority),
      rule.access,
      peer(rule),
      rule.protocol === "*" ? "all" : rule.protocol.toLowerCase(),
      rule.ports.map((port) => (port === "*" ? "all" : port)).join(", "),
      rule.purpose,
    ]),
  );
}

const scope: PolicyScope = { cluster: "CLUSTER", region: "REGION", accountId: "ACCOUNT", keyArn: "KEY" };

/** What each role of machines may do on AWS: every statement of every policy, with placeholders in capitals. */
export function awsRightsTable(): string {
  const { initialised, ...read } = controlPlaneParameters(scope.cluster);
  const join = joinParameter(scope.cluster);
  const policies: Readonly<Record<string, PolicyDocument>> = {
    "worker of a pool": workerPolicy(scope, [join], groupName(scope.cluster, "POOL"), "arn:aws:s3:::SCRIPTS/SYSTEM/*"),
    "control plane: machine": controlPlanePolicy(
      scope,
      { read: Object.values(read), write: [join, initialised] },
      { snapshots: "arn:aws:s3:::SNAPSHOTS", scripts: scriptsArn("arn:aws:s3:::SCRIPTS", "linux") },
    ),
    "control plane: cloud controller": cloudControllerPolicy(scope, "VPC"),
    "control plane: EBS driver": ebsDriverPolicy(scope),
    "control plane: autoscaler": autoscalerPolicy(scope),
  };
  return markdownTable(
    ["Role and policy", "Statement", "Actions", "On", "Only if"],
    Object.entries(policies).flatMap(([role, document]) => document.Statement.map((statement) => [role, ...statementCells(statement)])),
  );
}

/** Cells of a statement: its id, actions, resources and conditions. */
export function statementCells({ Sid, Action, Resource, Condition }: Statement): readonly string[] {
  return [
    Sid,
    lines(Action),
    lines(Resource ?? []),
    lines(
      Object.entries(Condition ?? {}).flatMap(([operator, keys]) =>
        Object.entries(keys).map(([key, value]) => `${key} ${operator} ${[value].flat().join(" or ")}`),
      ),
    ),
  ];
}

function lines(items: readonly string[]): string {
  return items.map((item) => `\`${item}\``).join("<br>");
}

/**
 * A document with its generated parts replaced: what is between `<!-- generated: NAME -->` and `<!-- end -->`.
 *
 * @throws RangeError when a part is not in the document, or the document has one that is not generated
 */
export function fillGenerated(document: string, parts: Readonly<Record<string, string>>): string {
  const found = new Set<string>();
  const filled = document.replaceAll(/<!-- generated: ([\w-]+) -->\n[\s\S]*?<!-- end -->/g, (_, name: string): string => {
    const text = parts[name];
    if (text === undefined) throw new RangeError(`nobody makes the generated part ${name}`);
    found.add(name);
    return `<!-- generated: ${name} -->\n\n${text}\n<!-- end -->`;
  });
  const missing = Object.keys(parts).filter((name) => !found.has(name));
  if (missing.length > 0) throw new RangeError(`the document has no place for ${missing.join(", ")}`);
  return filled;
}

/** Flags that a stack file may not set. */
export function reservedFlagsTable(): string {
  return markdownTable(
    ["Program", "Flags", "Why"],
    reservedFlagRows().map(([program, flags, reason]) => [program, lines(flags.split(" ")), reason]),
  );
}

/** Stages of a Linux machine with their exit codes. */
export function linuxStagesTable(): string {
  const ofNetworks = Object.values(podNetworks).flatMap(({ linux }) => linux.stages);
  const ofKeys = [encryptionStage, encryptedStage];
  const ownControlPlane = withCredentials({ credentials: { proxy: true, registries: [] } }, controlPlaneStages);
  const all = [trustStage, scriptsStage, ...ownControlPlane, ...ofKeys, ...linuxWorkerStages, ...ofNetworks];
  const names = [...new Set(all.map(({ name }) => name))];
  const conditions = new Map([
    [scriptsStage.name, "on AWS"],
    [trustStage.name, "with own authorities"],
    [credentialsStage.name, "with logins"],
    ...ofNetworks.map(({ name }) => [name, "with `azure-cni`"] as const),
  ]);
  const runs = (list: readonly Stage[], name: string) => {
    if (list.some((stage) => stage.name === name)) return "yes";
    const own = list === controlPlaneStages && ofKeys.some((stage) => stage.name === name);
    return own ? "with `secretsEncryption`" : (conditions.get(name) ?? "");
  };
  return markdownTable(
    ["Stage", "Exit code", "Control plane", "Worker", "Runs"],
    names.map((name) => {
      const stage = all.find((other) => other.name === name);
      return [
        `\`${name}\``,
        String(stage?.exitCode ?? ""),
        runs(controlPlaneStages, name),
        runs(linuxWorkerStages, name),
        stage?.mode === "always" ? "at each boot" : "until its inputs change",
      ];
    }),
  );
}

/** Stages of a Windows node with their exit codes. */
export function windowsStagesTable(): string {
  return markdownTable(
    ["Stage", "Exit code", "After", "Runs", "May ask for a reboot"],
    windowsStages.map(({ name, exitCode, needs, scope: runs, reboots }) => [
      `\`${name}\``,
      String(exitCode),
      needs.map((need) => `\`${need}\``).join(", "),
      runs === "boot" ? "at each boot" : "until its inputs change",
      reboots ? "yes" : "",
    ]),
  );
}

/** A role on Azure as a plan records it. */
interface RoleAssignment {
  readonly identity: string;
  readonly role: string;
  readonly scope: string;
}

/** Every role that a stack gives on Azure, read off its plan; the pools, which are alike, are shown as one. */
export function azureRightsTable(plan: Plan): string {
  const name = plan.cluster.name;
  const rows = plan.resources
    .filter(({ type }) => type === "azure-native:authorization:RoleAssignment")
    .map(({ name: resource, inputs }) => assignment(resource.slice(name.length + 1), textFields(inputs), name))
    .map(({ identity, role, scope: on }) => [identity, role, on]);
  const unique = new Map(rows.map((row) => [row.join("\n"), row]));
  return markdownTable(["Identity", "Built-in role", "On"], [...unique.values()].sort(byText));
}

/** The fields of a value that are texts. */
function textFields(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

function assignment(resource: string, inputs: Readonly<Record<string, string>>, cluster: string): RoleAssignment {
  const id = inputs.roleDefinitionId?.split("/").at(-1);
  const found = Object.entries(roles).find(([, known]) => known === id)?.[0];
  if (found === undefined) throw new RangeError(`${resource} gives a role without a name`);
  const own = /^pool-.*-identity-/.test(resource);
  return {
    identity: own ? "worker of a pool" : "control plane",
    role: found.replaceAll(/[A-Z]/g, (letter) => ` ${letter}`).replace(/^./, (letter) => letter.toUpperCase()),
    scope: scopeText(inputs.scope ?? "", cluster),
  };
}

/** The end of a resource id: its kinds and names, random parts and pools' names left out. */
function scopeText(id: string, cluster: string): string {
  const [, kinds = ""] = id.split("/providers/");
  if (kinds === "") return "the cluster's resource group";
  const parts = kinds.split("/").slice(1);
  return parts
    .flatMap((part, index) => (index % 2 === 0 ? [`${part} \`${parts[index + 1] ?? ""}\``] : []))
    .join(", ")
    .replace(new RegExp(`${cluster}-(ca|join)-\\w{8}`), "CLUSTER-$1-...")
    .replace(/storageAccounts `\w+`/, "storageAccounts `CLUSTERetcd...`")
    .replace(/`\S+-pool-.*-identity`/, "`CLUSTER-pool-POOL-identity`");
}

function byText(a: readonly string[], b: readonly string[]): number {
  return a.join("\n") < b.join("\n") ? -1 : 1;
}
