import { containerFolder, programFolder } from "../host/rootScripts.ts";
import { containerPrograms } from "../programs/build.ts";
import { containerdFile, imageServiceSocket } from "./overrides.ts";

/** Programs of Kubernetes' own images, there in /usr/local/bin (kubernetes: build/server-image). */
export const imagePrograms = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;

/** An image whose programs the rehearsal has, which rehearsal/runtime/containers/stand-in reads. */
interface KnownImage {
  /** Repository without tag and digest. */
  readonly image: string;
  /** Path in the container to the machine's file there. */
  readonly files?: Readonly<Record<string, string>>;
  /** Whether it is a small distribution, for whose programs the machine's own stand. */
  readonly system?: boolean;
  /** The only programs of it that run. Default: all. */
  readonly programs?: readonly string[];
}

const knownImages: readonly KnownImage[] = [
  ...imagePrograms.map((name) => ({
    image: `registry.k8s.io/${name}`,
    files: { [`/usr/local/bin/${name}`]: `${programFolder}/${name}` },
  })),
  // What verify asks, by the entry point of rehearsal/clouds/publishers.ts, and from, by the machine's curl and shell.
  {
    image: "registry.k8s.io/e2e-test-images/agnhost",
    files: { "/program": `${programFolder}/agnhost` },
    system: true,
    programs: ["/program"],
  },
  // flannel's containers really copy its configuration and plug-in to the machine. flanneld does not run.
  {
    image: "ghcr.io/flannel-io/flannel-cni-plugin",
    files: { "/flannel": "/.rehearsal/commands/flannel" },
    system: true,
    programs: ["cp"],
  },
  {
    image: "ghcr.io/flannel-io/flannel",
    files: { "/opt/bin/install-conf": "/.rehearsal/commands/install-conf" },
    system: true,
    programs: ["sh"],
  },
  {
    image: "mcr.microsoft.com/containernetworking/azure-cni",
    files: { "/dropgz": "/.rehearsal/commands/dropgz" },
    system: true,
    programs: ["/dropgz"],
  },
];

/** Whether programs of a repository are at hand, on whatever registry or mirror. */
export function isKnown(repository: string): boolean {
  return knownImages.some(({ image }) => `/${repository}`.endsWith(image.replace(/^[^/]+/, "")));
}

/** The table of known images as a file of a machine, by path (rehearsal/runtime/containers/stand-in). */
export const imageTable: Readonly<Record<string, string>> = {
  "/.rehearsal/images.json": JSON.stringify(knownImages, null, 2),
};

/** In place of the publishers' containerd: the real one, with the service for images in front of it. */
const containerdLauncher = `#!/bin/sh
# Launcher of the rehearsal: the real containerd, with the few settings that a namespace needs.
setpriv --pdeathsig KILL ${containerFolder}/image-service ${imageServiceSocket} /etc/containerd/config.toml >>/var/log/image-service.log 2>&1 &
unset NOTIFY_SOCKET
exec ${containerFolder}/containerd --config ${containerdFile}
`;

/** What is published in place of the programs that run containers. */
export const containerLaunchers: Readonly<Record<string, string>> = {
  ...Object.fromEntries(containerPrograms.map((name) => [name, launcher(`${containerFolder}/${name}`)])),
  containerd: containerdLauncher,
  runc: launcher(`${containerFolder}/stand-in runc`),
};

/** A launcher of a program outside the machine's folders: a copy per machine would cost time and memory. */
export function launcher(command: string): string {
  return `#!/bin/sh\n# Launcher of the rehearsal: the real program, the same for all machines.\nexec ${command} "$@"\n`;
}

/** `azure.conflist` of Azure's image (Azure/azure-container-networking: cni/azure-linux.conflist). */
const azureCniConflist = `{
  "cniVersion": "0.3.0",
  "name": "azure",
  "plugins": [
    {
      "type": "azure-vnet",
      "mode": "transparent",
      "ipsToRouteViaHost": ["169.254.20.10"],
      "ipam": { "type": "azure-vnet-ipam" }
    },
    { "type": "portmap", "capabilities": { "portMappings": true }, "snat": true }
  ]
}`;

/** Bodies of fakes of pod networks' programs, written out: a check must not learn them from the program. */
export const podNetworkCommands: Readonly<Record<string, string>> = {
  flannel: `exec ${containerFolder}/stand-in flannel`,
  // cmd/install_conf/main.go
  "install-conf": '[ $# = 2 ] && cp "$1" "$2.tmp" && mv "$2.tmp" "$2"',
  // Deploys the files of Azure's image in the order of its arguments (dropgz/pkg/embed/payload.go).
  dropgz: `shift
while [ $# -gt 0 ]; do
  case $1 in azure-vnet) text='#!/bin/sh
exec ${containerFolder}/stand-in azure-vnet' ;; azure-vnet-ipam) text='#!/bin/sh' ;; azure.conflist) text='${azureCniConflist}' ;; *) exit 1 ;; esac
  [ "$2" = -o ] && printf '%s\\n' "$text" >"$3" && chmod 755 "$3" || exit 1
  shift 3
done`,
};
