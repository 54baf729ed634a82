import { type Build, builders } from "./builders.ts";

export function readme({ spec, pool }: Build, base: string, images: readonly string[]): string {
  const own = builders[spec.cloud].commands.map((line) => line.replaceAll("POOL", pool.name).replaceAll("BASE", base));
  return [
    `# An image for the pool ${pool.name}`,
    "",
    "`bake.ps1` holds no secret, but names of your cluster: do not publish it.",
    "",
    ...own,
    "",
    "Any other builder, as SYSTEM: `bake.ps1` (exit code 0 or 3010), restart Windows, `bake.ps1` (0), `bake.ps1 -Seal -Sysprep` (0), stop, take the",
    "image. Without `-Sysprep` where the builder generalizes Windows itself.",
    "",
    "Keep the `image.json` that the seal prints. Make a new image each month, always from the vendor's: nodes of a month come before",
    "container images of it.",
    "",
    "Pulled:",
    "",
    ...images.map((image) => `- ${image}`),
    "",
  ].join("\n");
}
