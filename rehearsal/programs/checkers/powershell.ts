import { fileURLToPath } from "node:url";
import { Language, type Node, Parser } from "web-tree-sitter";

const grammar = fileURLToPath(import.meta.resolve("tree-sitter-powershell/tree-sitter-powershell.wasm"));

/** Places in a PowerShell script that its grammar does not know, as `line:column text`. */
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

/** Shows each node of a script's syntax tree to `visit`, parents first. False when there is no tree. */
export async function visitNodes(script: string, visit: (node: Node) => void): Promise<boolean> {
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
