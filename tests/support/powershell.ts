import type { Node } from "web-tree-sitter";
import { visitNodes } from "../../rehearsal/testkit/readers.ts";

export { syntaxErrors } from "../../rehearsal/testkit/readers.ts";

/** Names of a script's commands, sorted, each once. A command in a variable has none. */
export async function commandNames(script: string): Promise<readonly string[]> {
  const found = new Set<string>();
  await visitNodes(script, (node) => {
    if (node.type === "command_name") found.add(node.text);
  });
  return [...found].sort();
}

/** A script's tokens in order, without comments and white space. */
export async function tokens(script: string): Promise<readonly string[]> {
  const found: string[] = [];
  await visitNodes(script, (node) => {
    if (node.childCount === 0 && node.type !== "comment") found.push(node.text);
  });
  return found;
}

/** A call of a command, without those in its arguments. */
interface Command {
  readonly name: string;
  /** Parameters and options, in lower case. */
  readonly parameters: readonly string[];
  readonly text: string;
}

/** The nearest node of these types around one. */
function around(node: Node, ...types: readonly string[]): Node | undefined {
  for (let next = node.parent; next !== null; next = next.parent) if (types.includes(next.type)) return next;
  return undefined;
}

function nameOf(command: Node): string {
  return command.text.replace(/^[&.]\s*/, "").split(/\s/, 1)[0] ?? "";
}

/** Every command of a script, in blocks and arguments too. */
export async function commands(script: string): Promise<readonly Command[]> {
  const found = new Map<number, Command & { readonly parameters: string[] }>();
  await visitNodes(script, (node) => {
    if (node.type === "command") found.set(node.id, { name: nameOf(node), parameters: [], text: node.text });
    // The grammar takes an option with two hyphens for a word.
    if (node.type !== "command_parameter" && !(node.type === "generic_token" && node.text.startsWith("--"))) return;
    const owner = around(node, "command");
    if (owner !== undefined) found.get(owner.id)?.parameters.push(node.text.toLowerCase().replace(/:$/, ""));
  });
  return [...found.values()];
}
