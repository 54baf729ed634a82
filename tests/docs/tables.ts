import { awsOwners } from "../../components/aws/owners.ts";
import { azureOwners } from "../../components/azure/owners.ts";

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

/**
 * The entries of single settings, each below a heading of its own, to which others can link.
 *
 * @param reference what `fenestra schema --markdown` prints
 * @throws RangeError when it has no such setting
 */
export function settingsList(reference: string, paths: readonly string[]): string {
  return paths
    .map((path) => {
      const start = `- \`${path}\` (`;
      const line = reference.split("\n").find((each) => each.startsWith(start));
      if (line === undefined) throw new RangeError(`there is no setting ${path}`);
      return `### \`${path}\`\n\n${line.slice(start.length - 1)}\n`;
    })
    .join("\n");
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
