import { containerFolder, programFolder } from "../host/rootScripts.ts";
import { type KnownImage, podNetworkImages } from "../programs/podNetworks.ts";
import { containerdFile, imageServiceSocket } from "./overrides.ts";

/** Programs of Kubernetes' own images, there in /usr/local/bin (kubernetes: build/server-image). */
export const imagePrograms = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;

const knownImages: readonly KnownImage[] = [
  ...imagePrograms.map((name) => ({
    image: `registry.k8s.io/${name}`,
    files: { [`/usr/local/bin/${name}`]: `${programFolder}/${name}` },
  })),
  ...podNetworkImages,
];

/** Whether programs of a repository are at hand, on whatever registry or mirror. */
export function isKnown(repository: string): boolean {
  return knownImages.some(({ image }) => `/${repository}`.endsWith(image.replace(/^[^/]+/, "")));
}

/** The table of known images as a file of a machine, by path (tools/containers/stand-in). */
export const imageTable: Readonly<Record<string, string>> = {
  "/.rehearsal/images.json": JSON.stringify(knownImages, null, 2),
};

/** Programs of containerd's, runc's, crictl's and the plug-ins' archives that are at hand. */
const real = ["bridge", "containerd-shim-runc-v2", "crictl", "host-local", "loopback", "portmap", "ptp"];

/** In place of the publishers' containerd: the real one, with the service for images in front of it. */
const containerdLauncher = `#!/bin/sh
# Launcher of the rehearsal: the real containerd, with the few settings that a namespace needs.
setpriv --pdeathsig KILL ${containerFolder}/image-service ${imageServiceSocket} /etc/containerd/config.toml >>/var/log/image-service.log 2>&1 &
unset NOTIFY_SOCKET
exec ${containerFolder}/containerd --config ${containerdFile}
`;

/** What is published in place of the programs that run containers. */
export const containerLaunchers: Readonly<Record<string, string>> = {
  ...Object.fromEntries(real.map((name) => [name, launcher(`${containerFolder}/${name}`)])),
  containerd: containerdLauncher,
  runc: launcher(`${containerFolder}/stand-in runc`),
};

/** A launcher of a program outside the machine's folders: a copy per machine would cost time and memory. */
export function launcher(command: string): string {
  return `#!/bin/sh\n# Launcher of the rehearsal: the real program, the same for all machines.\nexec ${command} "$@"\n`;
}
