import path from "node:path";
import { programFolder } from "../host/rootScripts.ts";
import { addOnPrograms } from "../programs/addOnTable.ts";
import { defaultCache } from "../programs/cache.ts";
import { type KnownImage, podNetworkImages } from "../programs/podNetworks.ts";

/** The container runtime's table in a machine. */
const tablePath = "/.rehearsal/images.json";

/** Authorities that an image's program trusts: the machine's in their place, which include the simulated endpoints'. */
const authorities = "/etc/ssl/certs/ca-certificates.crt";

/** Programs of Kubernetes' own images, there in /usr/local/bin (kubernetes: build/server-image). */
export const imagePrograms = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;

const knownImages: readonly KnownImage[] = [
  ...imagePrograms.map((name) => ({
    image: `registry.k8s.io/${name}`,
    files: { [`/usr/local/bin/${name}`]: `${programFolder}/${name}` },
  })),
  ...podNetworkImages,
];

/**
 * The table of known images as a file of a machine, by path.
 * @param programs paths in the host's cache, by name, of add-ons' programs; those images run their own
 */
export function imageTable(programs: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  const addOns: readonly KnownImage[] = addOnPrograms
    .filter(({ name }) => programs.has(name))
    .map(({ name, image, path: at, user, files = {} }) => {
      const program = programs.get(name) ?? "";
      const beside = ([place, source]: readonly [string, string]) =>
        [place, programInCache(path.join(path.dirname(program), path.basename(source)))] as const;
      return {
        image,
        files: {
          [at]: programInCache(program),
          [authorities]: authorities,
          ...Object.fromEntries(Object.entries(files).map(beside)),
        },
        entrypoint: [at],
        user,
      };
    });
  return { [tablePath]: JSON.stringify([...knownImages, ...addOns], null, 2) };
}

/** Where a machine finds a file of the host's cache of programs. */
export function programInCache(file: string): string {
  return `${programFolder}/cache/${path.relative(defaultCache(), file)}`;
}

/** In place of the publisher's containerd: the rehearsal's own runtime, which reads containerd's configuration. */
export const runtimeLauncher = `#!/bin/sh
# Launcher of the rehearsal: its own container runtime in containerd's place.
exec ${programFolder}/container-runtime --config /etc/containerd/config.toml --images ${tablePath}
`;
