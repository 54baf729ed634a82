import { fileURLToPath } from "node:url";
import { Language, type Node, Parser } from "web-tree-sitter";

const grammar = fileURLToPath(import.meta.resolve("tree-sitter-powershell/tree-sitter-powershell.wasm"));

/** Places in a PowerShell script that its grammar does not know, as `line:column text`. Empty for a script that parses. */
export async function syntaxErrors(script: string): Promise<readonly string[]> {
  const found: string[] = [];
  const parsed = await visitNodes(script, (node) => {
    if (node.isError || node.isMissing) {
      const { row, column } = node.startPosition;
      found.push(`${row + 1}:${column + 1} ${node.isMissing ? `missing ${node.type}` : node.text.slice(0, 60)}`);
    }
  });
  return parsed ? found : ["the parser gave no tree"];
}

/** Names of the commands that a PowerShell script calls, sorted, each once. A command in a variable has none. */
export async function commandNames(script: string): Promise<readonly string[]> {
  const found = new Set<string>();
  await visitNodes(script, (node) => {
    if (node.type === "command_name") found.add(node.text);
  });
  return [...found].sort();
}

/** What a PowerShell script is made of, in its order: names, operators, texts and so on. Comments and space between them are not. */
export async function tokens(script: string): Promise<readonly string[]> {
  const found: string[] = [];
  await visitNodes(script, (node) => {
    if (node.childCount === 0 && node.type !== "comment") found.push(node.text);
  });
  return found;
}

/** Shows every node of the script's syntax tree to `visit`, parents first. False when there is no tree. */
async function visitNodes(script: string, visit: (node: Node) => void): Promise<boolean> {
  await Parser.init();
  const parser = new Parser();
  parser.setLanguage(await Language.load(grammar));
  const tree = parser.parse(script);
  if (tree === null) return false;
  const descend = (node: Node): void => {
    visit(node);
    for (const child of node.children) if (child !== null) descend(child);
  };
  descend(tree.rootNode);
  tree.delete();
  parser.delete();
  return true;
}
