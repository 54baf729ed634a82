import { z } from "zod";
import { type Artifact, isProgram } from "../../components/model/artifacts.ts";
import { kubernetesName } from "./lock.ts";
import type { Publishers } from "./publishers.ts";

/** Where a name's releases are, and the Go modules by which advisories know it. */
const projects: Readonly<Record<string, { readonly repository: string; readonly modules: readonly string[] }>> = {
  [kubernetesName]: { repository: "kubernetes/kubernetes", modules: ["k8s.io/kubernetes"] },
  "cni-plugins": { repository: "containernetworking/plugins", modules: ["github.com/containernetworking/plugins"] },
  containerd: { repository: "containerd/containerd", modules: ["github.com/containerd/containerd/v2"] },
  crictl: { repository: "kubernetes-sigs/cri-tools", modules: ["sigs.k8s.io/cri-tools"] },
  etcd: { repository: "etcd-io/etcd", modules: ["go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/client/pkg/v3"] },
  runc: { repository: "opencontainers/runc", modules: ["github.com/opencontainers/runc"] },
};

const sectionSchema = z.object({
  published: z.record(z.string(), z.record(z.string(), z.string())),
  known: z.record(z.string(), z.record(z.string(), z.looseObject({ fixed: z.array(z.string()) }))),
});
const releaseSchema = z.object({ published_at: z.string() });
// REST API, "List global security advisories".
const advisorySchema = z.array(
  z.object({
    ghsa_id: z.string(),
    cve_id: z.string().nullish(),
    summary: z.string(),
    html_url: z.string(),
    withdrawn_at: z.string().nullish(),
    vulnerabilities: z.array(
      z.object({ package: z.object({ name: z.string() }), first_patched_version: z.string().nullish() }),
    ),
  }),
);

/** `versions.json` with days of versions and GitHub's advisories; without these sections nobody is asked. */
export async function withNews(
  text: string,
  lock: readonly Artifact[],
  publishers: Publishers,
): Promise<{ readonly text: string; readonly news: readonly string[]; readonly failed: readonly string[] }> {
  const sections = sectionSchema.safeParse(JSON.parse(text));
  if (!sections.success) return { text, news: [], failed: [] };
  const { published, known } = sections.data;
  const [news, failed]: [string[], string[]] = [[], []];
  const versions = new Set(lock.map((row) => `${isProgram(row) ? kubernetesName : row.name} ${row.version}`));
  const look = async (name: string, version: string): Promise<void> => {
    const { repository, modules } = projects[name] ?? { repository: "", modules: [] };
    if (repository === "") return;
    if (published[name]?.[version] === undefined) {
      const url = `https://api.github.com/repos/${repository}/releases/tags/v${version}`;
      const day = releaseSchema.parse(JSON.parse(await publishers.text(url))).published_at.slice(0, 10);
      published[name] = { ...published[name], [version]: day };
      news.push(`published: ${name} ${version} on ${day}`);
    }
    const affects = modules.map((module) => encodeURIComponent(`${module}@${version}`)).join(",");
    const url = `https://api.github.com/advisories?ecosystem=go&per_page=100&affects=${affects}`;
    for (const each of advisorySchema.parse(JSON.parse(await publishers.text(url)))) {
      const id = each.cve_id ?? each.ghsa_id;
      if (known[name]?.[id] !== undefined || each.withdrawn_at) continue;
      const own = each.vulnerabilities.filter((one) => modules.includes(one.package.name));
      const fixed = [...new Set(own.flatMap((one) => one.first_patched_version ?? []))].sort();
      known[name] = { ...known[name], [id]: { about: each.summary, fixed, source: each.html_url } };
      news.push(`known: ${name} ${version} has ${id}, fixed in ${fixed.join(", ") || "none"}: ${each.summary}`);
    }
  };
  await Promise.all(
    [...versions].map((each) => {
      const [name = "", version = ""] = each.split(" ");
      return look(name, version).catch((error: unknown) => {
        failed.push(`news of ${each}: ${error instanceof z.ZodError ? z.prettifyError(error) : error}`);
      });
    }),
  );
  return news.length === 0
    ? { text, news, failed }
    : { text: written(text, { published, known }), news: news.sort(), failed };
}

/** The text with these as its last sections; what is before them stays to the byte. */
function written(text: string, sections: object): string {
  const rest = text.slice(0, text.search(/\s*"published":/));
  const own = JSON.stringify(sections, null, 2).replaceAll(
    /\[\s+([^\]]*?)\s+\]/g,
    (_, items: string) => `[${items.replaceAll(/\s+/g, " ")}]`,
  );
  return `${rest}\n${own.slice(2)}\n`;
}
