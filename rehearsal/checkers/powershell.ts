import { fileURLToPath } from "node:url";
import { Language, type Node, Parser } from "web-tree-sitter";

const grammar = fileURLToPath(import.meta.resolve("tree-sitter-powershell/tree-sitter-powershell.wasm"));

/** Places in a PowerShell script that its grammar does not know, as `line:column text`. Empty for a script that parses. */
export async function syntaxErrors(script: string): Promise<readonly string[]> {
  await Parser.init();
  const parser = new Parser();
  parser.setLanguage(await Language.load(grammar));
  const tree = parser.parse(script);
  if (tree === null) return ["the parser gave no tree"];
  const found: string[] = [];
  const visit = (node: Node): void => {
    if (node.isError || node.isMissing) {
      const { row, column } = node.startPosition;
      found.push(`${row + 1}:${column + 1} ${node.isMissing ? `missing ${node.type}` : node.text.slice(0, 60)}`);
    }
    for (const child of node.children) if (child !== null) visit(child);
  };
  visit(tree.rootNode);
  tree.delete();
  parser.delete();
  return found;
}
