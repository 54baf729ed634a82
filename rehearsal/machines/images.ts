import { programFolder } from "../host/machineRoot.ts";
import { addOnPrograms } from "../programs/addOns.ts";

/** An image whose programs the rehearsal has; the fields are those of tools/runtime/config.go. */
interface KnownImage {
  /** Repository without tag and digest. */
  readonly image: string;
  /** Path in the container to the file of the machine that lies there. */
  readonly files?: Readonly<Record<string, string>>;
  /** Whether the image is a small distribution: the machine's own programs stand for its. */
  readonly system?: boolean;
  readonly entrypoint?: readonly string[];
  /** User that the image names. Default: root. */
  readonly user?: number;
  /** The only programs of it that are run. Default: all. */
  readonly programs?: readonly string[];
}

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
  // flannel's init containers copy the pod network's configuration and plug-in to the machine, and do so for real. flanneld is not run.
  {
    image: "ghcr.io/flannel-io/flannel-cni-plugin",
    files: { "/flannel": "/.rehearsal/commands/flannel" },
    system: true,
    programs: ["cp"],
  },
  { image: "ghcr.io/flannel-io/flannel", system: true, programs: ["cp"] },
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
