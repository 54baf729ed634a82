/** Feature gates that a program's help lists, some of them twice: those that may be set. */
export function helpGates(text: string): readonly string[] {
  return [...new Set(text.match(/\b[A-Z]\w+(?==true\|false \((?:ALPHA|BETA))/g))].sort();
}
