/** A CEL text literal. JSON's escapes are a subset of CEL's. */
export function text(value: string): string {
  return JSON.stringify(value);
}

export function texts(values: readonly string[]): string {
  return `[${values.map(text).join(", ")}]`;
}
