import { containerFolder } from "../host/rootScripts.ts";

/** What the rehearsal knows of each pod network, written out: a check must not learn it from the program. */

/** An image whose programs the rehearsal has, which tools/containers/stand-in reads. */
export interface KnownImage {
  /** Repository without tag and digest. */
  readonly image: string;
  /** Path in the container to the machine's file there. */
  readonly files?: Readonly<Record<string, string>>;
  /** Whether it is a small distribution, for whose programs the machine's own stand. */
  readonly system?: boolean;
  /** The only programs of it that run. Default: all. */
  readonly programs?: readonly string[];
}

export const podNetworkImages: readonly KnownImage[] = [
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

/** Bodies of fakes in a machine. */
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
