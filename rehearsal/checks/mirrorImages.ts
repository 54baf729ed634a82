import { expect } from "../../checks/check.ts";
import type { MirrorOnly } from "../clouds/mirror.ts";
import type { DecodedMachine } from "../cluster/bringUp.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";

export interface ImageSources {
  readonly mirror: MirrorOnly;
  /** Registry to the URL of its mirror, as the stack file has it. */
  readonly registries: Readonly<Record<string, string>>;
  readonly decoded: readonly DecodedMachine[];
  /** Machines in namespaces, a live list. */
  readonly running: () => readonly LinuxMachine[];
}

export function registriesCheck({ mirror, registries, decoded }: ImageSources): RehearsalCheck {
  return {
    id: "mirror: registries",
    title: "containerd asks the mirror for every registry that the stack's images come from, on both systems",
    run: async ({ note }) => {
      const used = new Set(mirror.list.images.map(({ reference }) => reference.split("/")[0] ?? ""));
      const problems = new Set(
        decoded.flatMap((machine) => [...used].flatMap((registry) => registryProblem(machine, registry, registries))),
      );
      expect(problems.size === 0, [...problems].join("\n"));
      note(`${[...used].sort().join(", ")}, on ${decoded.length} machines`);
    },
  };
}

/** What keeps containerd of a machine from asking the mirror of a registry (containerd: docs/hosts.md). */
export function registryProblem(
  { machine, payload }: DecodedMachine,
  registry: string,
  mirrors: Readonly<Record<string, string>>,
): readonly string[] {
  const wanted = mirrors[registry] ?? mirrors._default;
  if (wanted === undefined) return [`fenestra:mirror.registries has no mirror of ${registry}`];
  const separator = payload.system === "windows" ? "\\" : "/";
  const config = payload.files.find(({ path }) => path.endsWith(`containerd${separator}config.toml`));
  const folder = /^config_path = '(.+)'$/m.exec(config?.content ?? "")?.[1];
  const named = mirrors[registry] === undefined ? "_default" : registry;
  // Windows allows no colon in a folder's name.
  const own = payload.system === "windows" ? named.replace(/:(\d+)$/, "_$1_") : named;
  const path = [folder, own, "hosts.toml"].join(separator);
  // With a login it is made from a template.
  const template = `\\templates${path.replace(/^[A-Z]:/, "")}`.replaceAll("\\", separator);
  const hosts = payload.files.find((file) => file.path === path || file.path.endsWith(template))?.content;
  if (hosts === undefined) return [`${machine.name} has no ${path}`];
  const first = /^\[host\."([^"]+)"\]\ncapabilities = \[(.*)\]/m.exec(hosts);
  return first?.[1] === wanted.replace(/\/+$/, "") && /"pull"/.test(first[2] ?? "") && /"resolve"/.test(first[2] ?? "")
    ? []
    : [`${machine.name}: ${path} does not ask ${wanted} first`];
}

export function imagesCheck({ mirror, decoded, running }: ImageSources): RehearsalCheck {
  return {
    id: "mirror: images",
    title: "the list names the image of every workload, of kubeadm's static pods, and of containerd's pause",
    run: async ({ kubectl, note }) => {
      const used = new Map<string, string>();
      const images = (await workloads(kubectl, "jsonpath={..image}")).split(/\s+/).filter((image) => image !== "");
      for (const image of images) used.set(image, "a workload");
      let manifests = 0;
      for (const { name, run } of running()) {
        const { stdout } = await run(["bash", "-c", "cat /etc/kubernetes/manifests/*.yaml 2>/dev/null || true"]);
        for (const [, image = ""] of stdout.matchAll(/^\s*(?:- )?image: *["']?([^\s"']+)/gm)) {
          used.set(image, `a static pod of ${name}`);
          manifests += 1;
        }
      }
      expect(manifests >= 4, `found ${manifests} images of static pods, wanted those of a control plane`);
      for (const { machine, payload } of decoded) {
        const config = payload.files.find(({ path }) => /containerd[\\/]config\.toml$/.test(path))?.content ?? "";
        const pause = /^sandbox = '(.+)'$/m.exec(config)?.[1];
        expect(pause !== undefined, `${machine.name} names no pause image`);
        used.set(pause, `containerd of ${machine.name}`);
      }
      const listed = new Set(mirror.list.images.map(({ reference }) => reference));
      // containerd names its pause image by the digest alone.
      const digests = new Set([...listed].map((reference) => reference.replace(/:[^:/@]+@/, "@")));
      const missing = [...used].filter(([image]) => !listed.has(image) && !digests.has(image));
      expect(missing.length === 0, missing.map(([image, user]) => `${image} of ${user} is not in the list`).join("\n"));
      note(`${used.size} images in use, ${listed.size} in the list`);
    },
  };
}

/** The cluster's workloads, in an output format of kubectl. */
export async function workloads(kubectl: CheckContext["kubectl"], output: string): Promise<string> {
  const kinds = "deployments,daemonsets,statefulsets,jobs,cronjobs";
  const { code, stdout, stderr } = await kubectl(["get", kinds, "--all-namespaces", "--output", output]);
  expect(code === 0, `kubectl get: ${stderr}`);
  return stdout;
}
