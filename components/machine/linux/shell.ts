/** A word that bash reads back as exactly this text. Throws on a NUL byte, which no shell variable can hold. */
export function shellQuote(text: string): string {
  if (text.includes("\0")) throw new RangeError("a shell word cannot hold a NUL byte");
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Variables as a file that bash sources, one assignment per line in the given order. Names are upper case. */
export function envFile(variables: Readonly<Record<string, string | number>>): string {
  return Object.entries(variables)
    .map(([name, value]) => {
      if (!/^[A-Z][A-Z0-9_]*$/.test(name)) throw new RangeError(`${name} is not the name of a variable`);
      return `${name}=${shellQuote(String(value))}\n`;
    })
    .join("");
}

/**
 * Rows as tab-separated lines. Throws on a field that is empty or contains a tab or newline, which bash reads wrongly.
 */
export function tsvFile(rows: readonly (readonly string[])[]): string {
  return rows
    .map((row) => {
      const broken = row.find((field) => field === "" || /[\t\n]/.test(field));
      if (broken !== undefined) throw new RangeError(`${JSON.stringify(broken)} cannot be a field of a table`);
      return `${row.join("\t")}\n`;
    })
    .join("");
}
