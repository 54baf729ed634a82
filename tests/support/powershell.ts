import { visitNodes } from "../../rehearsal/testkit/readers.ts";

export { syntaxErrors } from "../../rehearsal/testkit/readers.ts";

/** Names of the commands that a PowerShell script calls, sorted, each once. A command in a variable has none. */
export async function commandNames(script: string): Promise<readonly string[]> {
  const found = new Set<string>();
  await visitNodes(script, (node) => {
    if (node.type === "command_name") found.add(node.text);
  });
  return [...found].sort();
}

/**
 * What a PowerShell script is made of, in its order: names, operators, texts and so on. Comments and space between them
 * are not.
 */
export async function tokens(script: string): Promise<readonly string[]> {
  const found: string[] = [];
  await visitNodes(script, (node) => {
    if (node.childCount === 0 && node.type !== "comment") found.push(node.text);
  });
  return found;
}

/** Texts of the functions that a PowerShell script defines. */
export async function functionTexts(script: string): Promise<readonly string[]> {
  const found: string[] = [];
  await visitNodes(script, (node) => {
    if (node.type === "function_statement") found.push(node.text);
  });
  return found;
}
