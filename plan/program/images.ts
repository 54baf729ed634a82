/** Values of every field `image` of a Kubernetes object; templates and JSON inside are objects too. */
export function imagesIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    key === "image" && typeof item === "string" ? [item] : imagesIn(item),
  );
}
