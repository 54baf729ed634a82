import { programFolder } from "../host/rootScripts.ts";
import { type KnownImage, podNetworkImages } from "../programs/podNetworks.ts";

/** The container runtime's table in a machine. */
const tablePath = "/.rehearsal/images.json";

/** Programs of Kubernetes' own images, there in /usr/local/bin (kubernetes: build/server-image). */
export const imagePrograms = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;

const knownImages: readonly KnownImage[] = [
  ...imagePrograms.map((name) => ({
    image: `registry.k8s.io/${name}`,
    files: { [`/usr/local/bin/${name}`]: `${programFolder}/${name}` },
  })),
  ...podNetworkImages,
];

/** The table of known images as a file of a machine, by path. */
export const imageTable: Readonly<Record<string, string>> = { [tablePath]: JSON.stringify(knownImages, null, 2) };

/** In place of the publisher's containerd: the rehearsal's own runtime, which reads containerd's configuration. */
export const runtimeLauncher = `#!/bin/sh
# Launcher of the rehearsal: its own container runtime in containerd's place.
exec ${programFolder}/container-runtime --config /etc/containerd/config.toml --images ${tablePath}
`;
