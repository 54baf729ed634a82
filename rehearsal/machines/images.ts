import { programFolder } from "../host/rootScripts.ts";
import { type KnownImage, podNetworkImages } from "../podNetworks.ts";
import { addOnPrograms } from "../programs/addOns.ts";

/** Where the container runtime finds the table in a machine. */
const tablePath = "/.rehearsal/images.json";

/** Authorities that a program trusts: its image's, for which the machine's stand, since they include that of the simulated endpoints. */
const authorities = "/etc/ssl/certs/ca-certificates.crt";

/** Programs of Kubernetes' own images, which lie in /usr/local/bin there (kubernetes: build/server-image). */
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
 *
 * @param programs names of the programs that the machine has; an add-on's is run where its own is among them.
 */
export function imageTable(programs: readonly string[]): Readonly<Record<string, string>> {
  const addOns: readonly KnownImage[] = addOnPrograms
    .filter(({ name }) => programs.includes(name))
    .map(({ name, image, path, user }) => ({
      image,
      files: { [path]: `${programFolder}/${name}`, [authorities]: authorities },
      entrypoint: [path],
      user,
    }));
  return { [tablePath]: JSON.stringify([...knownImages, ...addOns], null, 2) };
}

/** What lies where the publisher's containerd would: the rehearsal's own runtime, which reads containerd's configuration. */
export const runtimeLauncher = `#!/bin/sh
# Launcher of the rehearsal: its own container runtime in containerd's place.
exec ${programFolder}/container-runtime --config /etc/containerd/config.toml --images ${tablePath}
`;
