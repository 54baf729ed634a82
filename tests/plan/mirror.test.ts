import assert from "node:assert/strict";
import { loadConfig } from "../../components/config/load.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { kubeadmImages, minors } from "../../components/model/releases.ts";
import { mirrorList } from "../../plan/report/mirrorList.ts";
import { planOf } from "../support/planOf.ts";
import { configTexts, stackConfig, stackDir } from "../support/stacks.ts";
import { fenestra } from "../support/suite.ts";

const publishers = /:\/\/(?:dl\.k8s\.io|github\.com|api\.github\.com|artifacts\.k8s\.io)\//;

async function planWith(changes: Readonly<Record<string, unknown>>, stack = "aws-dev") {
  const config = { ...stackConfig(stack), ...configTexts(changes) };
  return { spec: clusterSpec(loadConfig(config)), plan: await planOf(stack, config) };
}

describe("fenestra mirror", () => {
  it("lists files and images with the lock file's digests", async () => {
    const { code, out, err } = await fenestra("mirror", ...stackDir, "--stack", "aws-dev");
    assert.equal(code, 0);
    const digests = new Map(
      readArtifactLock().map(({ url, algorithm, digest }) => [url, digest === null ? "-" : `${algorithm}:${digest}`]),
    );
    const rows = out
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t"));
    for (const [, digest, address = "", ...more] of rows)
      assert.deepEqual([digest, more], [digests.get(address) ?? "-", []], address);
    const [files, images] = ["file", "image"].map((kind) => rows.filter(([own]) => own === kind).length);
    assert.equal(rows.length, (files ?? 0) + (images ?? 0));
    assert.match(err, new RegExp(`^\\d+ files, ${images} images, \\d+ of them without a recorded digest\\n$`));
  });

  it("has every image of Kubernetes objects, and every download of a payload", async () => {
    const { plan, spec } = await planWith({});
    const { files, images } = mirrorList(plan, spec);
    const references = new Set(images.map(({ reference }) => reference));
    const text = JSON.stringify(plan.resources.filter(({ type }) => type.startsWith("kubernetes:")));
    for (const [, image = ""] of text.matchAll(/"image":"([^"]+)"/g)) assert.ok(references.has(image), image);
    const urls = new Set(files.flatMap(({ url, checksumUrl }) => [url, checksumUrl]));
    const payloads = plan.machines.flatMap((machine) => machine.files.map(({ content }) => content)).join("\n");
    const downloads = payloads.match(/https:\/\/(?:dl\.k8s\.io|github\.com)\/[^\s"',\\]+/g) ?? [];
    assert.ok(downloads.length > 20);
    for (const url of downloads) assert.ok(urls.has(url), url);
  });

  it("knows what kubeadm of each minor runs", () => {
    for (const { minor } of minors) assert.equal(kubeadmImages(readArtifactLock(), `${minor}.1`).length, 6, minor);
    assert.ok(kubeadmImages(readArtifactLock(), "1.36.4").includes("registry.k8s.io/kube-proxy:v1.36.4"));
    assert.throws(() => kubeadmImages(readArtifactLock(), "1.99.0"), RangeError);
  });
});

describe("a stack with a mirror", () => {
  const registries = Object.fromEntries(
    ["ghcr.io", "mcr.microsoft.com", "public.ecr.aws", "quay.io", "registry.k8s.io"].map((registry) => [
      registry,
      `https://mirror.example.com/v2/${registry}`,
    ]),
  );
  const mirror = { artifacts: "https://mirror.example.com/files", registries };

  it("has no publisher in payloads' downloads when the machines have no way out", async () => {
    const network: Readonly<Record<string, unknown>> = JSON.parse(stackConfig("aws-dev")["fenestra:network"] ?? "{}");
    const { plan, spec } = await planWith({ mirror, network: { ...network, nat: "none" } });
    for (const machine of plan.machines)
      for (const { path, content } of machine.files)
        assert.doesNotMatch(content, publishers, `${machine.name} ${path}`);
    const plain = await planWith({});
    assert.ok(plain.plan.machines.every(({ files }) => files.some(({ content }) => publishers.test(content))));
    const list = mirrorList(plan, spec);
    assert.deepEqual(
      list.files.map(({ url }) => url),
      mirrorList(plain.plan, plain.spec).files.map(({ url }) => url),
    );
    for (const { url, mirror: at } of list.files)
      assert.equal(at, `https://mirror.example.com/files/${url.replace("https://", "")}`);
    for (const { reference, mirror: at } of list.images)
      assert.equal(at, `https://mirror.example.com/v2/${reference.split("/")[0]}`);
  });

  it("fetches another image of sandboxes, on both systems", async () => {
    const pauseImage = `mcr.microsoft.com/oss/kubernetes/pause:3.10@sha256:${"ab".repeat(32)}`;
    const { plan, spec } = await planWith({ mirror, kubernetes: { pauseImage } });
    for (const { name, files } of plan.machines) {
      assert.match(
        files.find(({ path }) => /containerd[\\/]config\.toml$/.test(path))?.content ?? "",
        /sandbox = .mcr\.microsoft\.com\/oss\/kubernetes\/pause@sha256:abab/,
        name,
      );
      assert.doesNotMatch(JSON.stringify(files), /registry\.k8s\.io\/pause/, name);
    }
    assert.deepEqual(
      mirrorList(plan, spec)
        .images.map(({ reference }) => reference)
        .filter((reference) => reference.includes("/pause")),
      [pauseImage],
    );
  });
});
