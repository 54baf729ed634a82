export interface Unit {
  /** `Service`, `Timer`, `Unit` and so on to their settings, each with all its values. */
  readonly sections: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

/**
 * Reads a unit file and its drop-ins in order. An empty assignment clears a list, by systemd.syntax(7) and
 * systemd.service(5); a line that ends in a backslash continues.
 */
export function parseUnit(texts: readonly string[]): Unit {
  const sections: Record<string, Record<string, string[]>> = {};
  for (const text of texts) {
    let section = "";
    for (const line of text
      .replaceAll("\\\n", " ")
      .split("\n")
      .map((raw) => raw.trim())) {
      if (line === "" || line.startsWith("#") || line.startsWith(";")) continue;
      const header = /^\[(.+)\]$/.exec(line)?.[1];
      if (header !== undefined) {
        section = header;
        continue;
      }
      const [key = "", ...rest] = line.split("=");
      const present = sections[section] ?? {};
      const value = rest.join("=").trim();
      sections[section] = { ...present, [key.trim()]: value === "" ? [] : [...(present[key.trim()] ?? []), value] };
    }
  }
  return { sections };
}

export function settings(unit: Unit, section: string, key: string): readonly string[] {
  return unit.sections[section]?.[key] ?? [];
}

/** A setting's last value, which counts. */
export function setting(unit: Unit, section: string, key: string): string | undefined {
  return settings(unit, section, key).at(-1);
}

/**
 * The words of a command line with its variables: `$NAME` as a word is split at blanks, `${NAME}` stays one word
 * (systemd.service(5), "Command lines"). The program's prefixes `-`, `@`, `+`, `!` are dropped.
 */
export function commandLine(text: string, environment: Readonly<Record<string, string>>): readonly string[] {
  const words = splitWords(text).flatMap((word) => {
    const bare = /^\$([A-Za-z_][A-Za-z0-9_]*)$/.exec(word)?.[1];
    if (bare !== undefined) return splitWords(environment[bare] ?? "");
    return [word.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => environment[name] ?? "")];
  });
  const [program = "", ...args] = words;
  return [program.replace(/^[-@+!:|]+/, ""), ...args];
}

export function splitWords(text: string): readonly string[] {
  const words: string[] = [];
  for (const match of text.matchAll(/(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s"']+))+/g))
    words.push(
      match[0].replaceAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_, double?: string, single?: string) =>
        double === undefined ? (single ?? "") : double.replaceAll(/\\(.)/g, "$1"),
      ),
    );
  return words;
}

/** The variables of an environment file (systemd.exec(5)): `NAME=value` lines, without quotes. */
export function parseEnvironmentFile(text: string): Readonly<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line);
    if (match?.[1] === undefined) continue;
    variables[match[1]] = splitWords(match[2] ?? "").join(" ");
  }
  return variables;
}

/** Seconds by the names of units of a systemd time span. */
const spans: readonly (readonly [unit: RegExp, seconds: number])[] = [
  [/^ms$/, 0.001],
  [/^(s|sec|seconds?)?$/, 1],
  [/^(m|min|minutes?)$/, 60],
  [/^(h|hr|hours?)$/, 3600],
  [/^(d|days?)$/, 86_400],
  [/^(w|weeks?)$/, 604_800],
];

/** Seconds of a systemd time span such as `1h 30min`, `5s`, `90`. @throws RangeError for one that it does not know */
export function timeSpanSeconds(text: string): number {
  const parts = [...text.matchAll(/([\d.]+)\s*([a-z]*)/g)].map(([, amount = "", unit = ""]) => {
    const [, seconds] = spans.find(([pattern]) => pattern.test(unit)) ?? [];
    if (seconds === undefined) throw new RangeError(`${text} is not a time span`);
    return Number(amount) * seconds;
  });
  return parts.reduce((sum, part) => sum + part, 0);
}
