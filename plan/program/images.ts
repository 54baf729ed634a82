/** Values of every field `image`; templates and JSON inside count too. */
export function imagesIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    key === "image" && typeof item === "string" ? [item] : imagesIn(item),
  );
}
