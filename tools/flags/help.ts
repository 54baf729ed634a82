/** Name and type of the flags that a help text lists, as pflag prints them. */
export function helpFlags(text: string): readonly (readonly [string, string])[] {
  return text.split("\n").flatMap((line) => {
    const found = /^ +(?:-\w, )?--([\w.-]+)(?:\[=[^\]]*\])?(?: (\S+))?(?: .*)?$/.exec(line);
    return found === null ? [] : [[found[1] ?? "", kindOf(found[2] ?? "bool")] as const];
  });
}

/** What a value of a type must look like, as far as rules on stack files know types. */
function kindOf(type: string): string {
  if (type === "bool" || type === "duration") return type;
  if (/^u?int\d*$|^Level$/.test(type)) return "int";
  return /^float/.test(type) ? "float" : "value";
}

/** Flags in the help of etcd, which names no types. What it calls deprecated or experimental is left out. */
export function etcdFlags(text: string): readonly (readonly [string, string])[] {
  return [...text.matchAll(/^ {2}--([a-z0-9-]+)\b.*\n( {4}.*)?/gm)]
    .filter(
      ([, name, about]) =>
        !/^(?:experimental-|version$|config-file$)/.test(name ?? "") && !/Deprecated/.test(about ?? ""),
    )
    .map(([, name]) => [name ?? "", "value"] as const);
}

/** Feature gates that a program's help lists, some of them twice: those that may be set. */
export function helpGates(text: string): readonly string[] {
  return [...new Set(text.match(/\b[A-Z]\w+(?==true\|false \((?:ALPHA|BETA))/g))].sort();
}
