/**
 * Writes `components/model/upstream.lock.json`: what the manifests of add-ons' own projects say, at the versions of
 * `versions.json`. What they say otherwise than before is printed; nothing is written where one cannot be read whole.
 *
 * Usage: cli/with-node tests/kubernetes/upstreamManifests.ts [--via URL], a mirror as that of `fenestra pin --via`. For another
 * image `--image NAME`, with `--repository OWNER/NAME --paths PATTERN [--tag TAG]` on GitHub, or `--none REASON`.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { httpPublishers, type Publishers, reasonOf } from "../../cli/pin/publishers.ts";
import {
  defaultRelease,
  minorOf,
  type NamedVersion,
  namedVersions,
  versions,
} from "../../components/model/releases.ts";
import { differences, type Facts, factsOf } from "./upstreamFacts.ts";

const factSchema: z.ZodType<Facts> = z.record(z.string(), z.union([z.string(), z.lazy(() => factSchema)]));
const readSchema = z.strictObject({ version: z.string(), commit: z.string(), facts: factSchema });
const upstreamSchema = z.strictObject({
  /** On GitHub. */
  repository: z.string(),
  /** `{version}` is the image's. */
  tag: z.string().default("v{version}"),
  /** Pattern of paths in the repository. */
  paths: z.string(),
  /** What was read last, of the image's version. */
  read: readSchema.optional(),
});
const lockSchema = z.record(z.string(), z.union([upstreamSchema, z.strictObject({ none: z.string() })]));

/** For each image where its project's manifests are and what they say, or why there are none. */
type UpstreamLock = z.infer<typeof lockSchema>;

const file = new URL("../../components/model/upstream.lock.json", import.meta.url);

export const readUpstream = (): UpstreamLock => lockSchema.parse(JSON.parse(readFileSync(file, "utf8")));

const commitSchema = z.object({ sha: z.string() });
const treeSchema = z.object({
  truncated: z.literal(false),
  tree: z.array(z.object({ path: z.string(), type: z.string(), sha: z.string() })),
});

/** Each file must be the commit's. */
async function read(
  { repository, tag, paths }: z.infer<typeof upstreamSchema>,
  version: string,
  publishers: Publishers,
): Promise<z.infer<typeof readSchema>> {
  // An image may have its own suffix: 1.36.5-1.
  const name = tag.replace("{version}", version.replace(/-.*/, ""));
  const api = `https://api.github.com/repos/${repository}`;
  const json = async (url: string): Promise<unknown> => JSON.parse(await publishers.text(url));
  const { sha: commit } = commitSchema.parse(await json(`${api}/commits/${name}`));
  const { tree } = treeSchema.parse(await json(`${api}/git/trees/${commit}?recursive=1`));
  const chosen = tree.filter(({ path, type }) => type === "blob" && new RegExp(`^(${paths})$`).test(path));
  if (chosen.length === 0) throw new Error(`${repository} ${name} has no file ${paths}`);
  const documents: unknown[] = [];
  for (const { path, sha } of chosen) {
    const url = `https://raw.githubusercontent.com/${repository}/${commit}/${path}`;
    const content = await publishers.text(url);
    const blob = createHash("sha1")
      .update(`blob ${Buffer.byteLength(content)}\0${content}`)
      .digest("hex");
    if (blob !== sha) throw new Error(`${url}: not the file of the tag, but ${blob} in place of ${sha}`);
    for (const document of parseAllDocuments(content)) {
      if (document.errors.length > 0) throw new Error(`${url}: ${document.errors[0]?.message}`);
      documents.push(...[document.toJS()].filter((each) => each !== null));
    }
  }
  return { version, commit, facts: factsOf(documents) };
}

/** The lock with the versions that it had not read, and what changes, line by line. */
export async function withManifests(
  lock: UpstreamLock,
  named: readonly NamedVersion[],
  publishers: Publishers,
): Promise<{
  readonly upstream: UpstreamLock;
  readonly changed: readonly string[];
  readonly failed: readonly string[];
}> {
  const [changed, failed]: [string[], string[]] = [[], []];
  const entries = Object.entries(lock).map(async ([image, own]): Promise<[string, UpstreamLock[string]]> => {
    const version = named.find(({ name, os }) => name === image && os !== "windows")?.version;
    if ("none" in own || version === undefined || own.read?.version === version) return [image, own];
    const now = await read(own, version, publishers).catch((error: unknown) => reasonOf(error));
    if (typeof now === "string") {
      failed.push(`${image} ${version}: ${now}`);
      return [image, own];
    }
    const lines = own.read === undefined ? [": recorded"] : differences(own.read.facts, now.facts, "");
    changed.push(...lines.map((line) => `${image} ${version}${line}`));
    return [image, { ...own, read: now }];
  });
  return { upstream: Object.fromEntries(await Promise.all(entries)), changed, failed };
}

if (import.meta.main) {
  const named = namedVersions(versions, minorOf(defaultRelease));
  const type = "string";
  const options = {
    via: { type },
    image: { type },
    repository: { type },
    paths: { type },
    tag: { type },
    none: { type },
  } as const;
  const { via, image, ...source } = parseArgs({ options }).values;
  const rows = { ...readUpstream(), ...(image === undefined ? {} : lockSchema.parse({ [image]: source })) };
  const sorted = Object.fromEntries(Object.entries(rows).sort(([a], [b]) => (a < b ? -1 : 1)));
  const asked = named.filter(({ name }) => image === undefined || name === image);
  const { upstream, changed, failed } = await withManifests(sorted, asked, httpPublishers(via));
  for (const line of [...changed, ...failed]) console.log(line);
  if (failed.length === 0) writeFileSync(file, `${JSON.stringify(upstream, null, 2)}\n`);
  else process.exitCode = 1;
}
