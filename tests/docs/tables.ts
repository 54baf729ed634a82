import { z } from "zod";
import { awsOwners } from "../../components/aws/owners.ts";
import { azureOwners } from "../../components/azure/owners.ts";
import { roles } from "../../components/azure/roles.ts";
import type { OwnerTable } from "../../components/model/owners.ts";
import type { Plan } from "../../plan/plan.ts";

/** Rows of a Markdown table under its head. Bars in cells are escaped. */
function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line), ""].join("\n");
}

/** Rows that differ in the given columns alone become one, with all values of these columns. */
function mergedRows(
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
