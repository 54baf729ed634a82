import { z } from "zod";
import { awsOwners } from "../../components/aws/owners.ts";
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
import { azureOwners } from "../../components/azure/owners.ts";
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
import type { OwnerTable } from "../../components/model/owners.ts";
import { groupName } from "../../components/model/pools.ts";
import { reservedFlagRows } from "../../components/model/reservedFlags.ts";
import { podNetworks } from "../../components/podNetworks/podNetworks.ts";
import type { Plan } from "../../plan/plan.ts";

/** Rows of a Markdown table under its head. Bars in cells are escaped. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line), ""].join("\n");
}

/** Rows that differ in the given columns alone become one, with all values of these columns. */
export function mergedRows(
  rows: readonly (readonly string[])[],
  columns: readonly number[],
  separator = ", ",
): readonly (readonly string[])[] {
  const groups = Map.groupBy(rows, (row) =>
    row.map((cell, column) => (columns.includes(column) ? "" : cell)).join("\n"),
  );
  return [...groups.values()].map(([first = [], ...others]) =>
    first.map((cell, column) =>
      columns.includes(column) ? [cell, ...others.map((row) => row[column])].join(separator) : cell,
    ),
  );
}

/** Inputs to which others add. */
export function ownersTable(): string {
  const rows = Object.entries({ aws: awsOwners, "azure-native": azureOwners }).flatMap(([provider, table]) =>
    Object.entries(table).flatMap(([type, { contested = {}, shared = {} }]) => {
      const row = (input: string, others: string, then: string) => [type.replace("*", provider), input, others, then];
      return [
        ...Object.entries(contested).map(([input, others]) =>
          row(input, others, `taken off${input === "tags" ? ", but for `ignoreTags`" : ""}`),
        ),
        ...Object.entries(shared).map(([input, { others }]) => row(input, others, "stays")),
      ];
    }),
  );
  return markdownTable(["Type", "Input", "Who adds", "What they add"], mergedRows(rows, [1]));
}

/** What of others stops `destroy`; `uninstall --check` has the commands too. */
export function heldList(table: OwnerTable): string {
  return Object.entries(table)
    .flatMap(([type, { heldBy }]) => (heldBy === undefined ? [] : [`- ${type.split(":").at(-1)}: ${heldBy.others}\n`]))
    .join("");
}

export function alertsTable(): string {
  return markdownTable(
    ["Alert", "While", "Minutes", "Section"],
    alerts.map(({ name, expression, minutes, section, link }) => [
      name,
      lines([expression]),
      String(minutes),
      `[${section}](${link})`,
    ]),
  );
}

export function awsPortsTable(spec: ClusterSpec): string {
  const cells = ({ group, direction, peer, protocol, ports, purpose }: AwsRule) => [
    group,
    direction === "ingress" ? "in" : "out",
    "group" in peer ? peer.group : peer.cidr,
    protocol,
    ports === undefined ? "all" : [...new Set(ports)].join("-"),
    purpose,
  ];
  return markdownTable(
    ["Group", "Direction", "Other end", "Protocol", "Ports", "Purpose"],
    mergedRows(mergedRows(awsRules(spec).map(cells), [2]), [0]),
  );
}

export function azurePortsTable(spec: ClusterSpec): string {
  const cells = ({ group, priority, access, peer, protocol, ports, purpose }: AzureRule) => [
    group,
    String(priority),
    access,
    "group" in peer ? peer.group : "cidrs" in peer ? peer.cidrs.join(", ") : peer.tag === "*" ? "any" : peer.tag,
    protocol === "*" ? "all" : protocol.toLowerCase(),
    ports.map((port) => (port === "*" ? "all" : port)).join(", "),
    purpose,
  ];
  return markdownTable(
    ["Group", "Priority", "Access", "From", "Protocol", "Ports", "Purpose"],
    mergedRows(mergedRows(azureRules(spec).map(cells), [1, 3]), [0]),
  );
}

const scope: PolicyScope = { cluster: "CLUSTER", region: "REGION", accountId: "ACCOUNT", keyArn: "KEY" };

/** What each role of machines may do on AWS, with placeholders in capitals. */
export function awsRightsTable(): string {
  const { initialised, ...read } = controlPlaneParameters(scope.cluster);
  const shared = joinParameter(scope.cluster);
  const join = [joinParameter(scope.cluster, "POOL"), shared];
  const policies: Readonly<Record<string, PolicyDocument>> = {
    "worker of a pool": workerPolicy(scope, join, groupName(scope.cluster, "POOL"), "arn:aws:s3:::SCRIPTS/SYSTEM/*"),
    "control plane: machine": controlPlanePolicy(
      scope,
      { read: Object.values(read), write: [shared, `${shared}/*`, initialised] },
      { snapshots: "arn:aws:s3:::SNAPSHOTS", scripts: scriptsArn("arn:aws:s3:::SCRIPTS", "linux") },
    ),
    "control plane: cloud controller": cloudControllerPolicy(scope, "VPC"),
    "control plane: EBS driver": ebsDriverPolicy(scope),
    "control plane: autoscaler": autoscalerPolicy(scope),
  };
  return statementLists(
    Object.entries(policies).flatMap(([role, document]) =>
      document.Statement.map((statement) => [role, statement] as const),
    ),
  );
}

/** Statements below the name of each policy: id, actions, resources, conditions. */
function statementLists(statements: readonly (readonly [policy: string, statement: Statement])[]): string {
  const entry = ({ Sid, Action, Resource, Condition }: Statement): string => {
    const conditions = Object.entries(Condition ?? {}).flatMap(([operator, keys]) =>
      Object.entries(keys).map(([key, value]) => `${key} ${operator} ${[value].flat().join(" or ")}`),
    );
    const only = conditions.length === 0 ? "" : `, only if ${lines(conditions)}`;
    return `- ${Sid}: ${lines(Action)} on ${lines(Resource ?? [])}${only}`;
  };
  return [...Map.groupBy(statements, ([policy]) => policy)]
    .map(([policy, own]) => [`**${policy}**`, "", ...own.map(([, statement]) => entry(statement)), ""].join("\n"))
    .join("\n");
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
  const filled = document.replaceAll(
    /<!-- generated: ([\w-]+) -->\n[\s\S]*?<!-- end -->/g,
    (_, name: string): string => {
      const text = parts[name];
      if (text === undefined) throw new RangeError(`nobody makes the generated part ${name}`);
      found.add(name);
      return `<!-- generated: ${name} -->\n\n${text}\n<!-- end -->`;
    },
  );
  const missing = Object.keys(parts).filter((name) => !found.has(name));
  if (missing.length > 0) throw new RangeError(`the document has no place for ${missing.join(", ")}`);
  return filled;
}

export function reservedFlagsTable(): string {
  return markdownTable(
    ["Program", "Flags", "Why"],
    mergedRows(mergedRows(reservedFlagRows(), [1], " "), [0]).map(([program = "", flags = "", reason = ""]) => [
      program,
      lines(flags.split(" ")),
      reason,
    ]),
  );
}

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
    ["Stage", "Exit code", "Control plane", "Worker", "At each boot"],
    names.map((name) => {
      const stage = all.find((other) => other.name === name);
      return [
        `\`${name}\``,
        String(stage?.exitCode ?? ""),
        runs(controlPlaneStages, name),
        runs(linuxWorkerStages, name),
        stage?.mode === "always" ? "yes" : "",
      ];
    }),
  );
}

export function windowsStagesTable(): string {
  return markdownTable(
    ["Stage", "Exit code", "After", "At each boot", "May ask for a reboot"],
    windowsStages.map(({ name, exitCode, needs, scope: runs, reboots }) => [
      `\`${name}\``,
      String(exitCode),
      needs.map((need) => `\`${need}\``).join(", "),
      runs === "boot" ? "yes" : "",
      reboots ? "yes" : "",
    ]),
  );
}

/** Roles that a stack gives on Azure, by its plan; the pools, which are alike, are one. */
export function azureRightsTable(plan: Plan): string {
  const name = plan.cluster.name;
  const rows = plan.resources
    .filter(({ type }) => type === "azure-native:authorization:RoleAssignment")
    .map(({ name: resource, inputs }) => assignment(resource.slice(name.length + 1), inputs, name));
  const unique = new Map(rows.map((row) => [row.join("\n"), row]));
  return markdownTable(["Identity", "Built-in role", "On"], [...unique.values()].sort(byText));
}

function assignment(resource: string, inputs: unknown, cluster: string): readonly string[] {
  const { roleDefinitionId, scope: on } = z.object({ roleDefinitionId: z.string(), scope: z.string() }).parse(inputs);
  const id = roleDefinitionId.split("/").at(-1);
  const role = Object.entries(roles).find(([, known]) => known === id)?.[0];
  if (role === undefined) throw new RangeError(`${resource} gives a role without a name`);
  const identity = /^pool-.*-identity-/.test(resource) ? "worker of a pool" : "control plane";
  return [identity, words(role), scopeText(on, cluster)];
}

/** A name in camel case as words with capitals. */
function words(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter}`).replace(/^./, (letter) => letter.toUpperCase());
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
    .replace(/`join-\S+-\w{8}`/, "`join-POOL-...`")
    .replace(/`\S+-pool-.*-identity`/, "`CLUSTER-pool-POOL-identity`");
}

function byText(a: readonly string[], b: readonly string[]): number {
  return a.join("\n") < b.join("\n") ? -1 : 1;
}
