import type { PodNetworkManifests } from "../../kubernetes/addOnEntry.ts";
import type { Account } from "../../kubernetes/manifest.ts";
import { daemonSet, everyTaint, hostPath, linuxOnly, small } from "../../kubernetes/workload.ts";
import { requireArtifact } from "../../model/artifacts.ts";
import { pauseImage, versions } from "../../model/releases.ts";

const name = "mcr.microsoft.com/containernetworking/azure-cni";
const installer: Account = { name: "azure-cni-installer", namespace: "kube-system" };

/** What the image holds, and where it goes: the configuration last, since it makes the node Ready. */
const files = {
  "azure-vnet": "/opt/cni/bin/azure-vnet",
  "azure-vnet-ipam": "/opt/cni/bin/azure-vnet-ipam",
  "azure.conflist": "/etc/cni/net.d/10-azure.conflist",
};

/**
 * Installs the plug-in on Linux nodes, as Cluster API Provider Azure does: the image's only program unpacks what it
 * holds and compares it with its list of digests (Azure/azure-container-networking: dropgz). Its configuration is a
 * host route for each pod and no bridge (cni/azure-linux.conflist).
 */
export const azureCniManifests: PodNetworkManifests = ({ artifacts, kubernetes }) => {
  return [
    daemonSet(installer, {
      nodeSelector: linuxOnly,
      hostNetwork: true,
      automountServiceAccountToken: false,
      tolerations: everyTaint,
      initContainers: [
        {
          name: "install",
          image: requireArtifact(artifacts, { name, version: versions.networks["azure-cni"][name], os: "linux" }).url,
          command: ["/dropgz", "deploy", ...Object.entries(files).flatMap(([file, path]) => [file, "-o", path])],
          volumeMounts: [
            { name: "plugins", mountPath: "/opt/cni/bin" },
            { name: "configuration", mountPath: "/etc/cni/net.d" },
          ],
          resources: small("10m", "32Mi", "128Mi"),
        },
      ],
      containers: [
        { name: "pause", image: pauseImage(artifacts, kubernetes.version), resources: small("1m", "4Mi", "16Mi") },
      ],
      volumes: [
        hostPath("plugins", "/opt/cni/bin", "DirectoryOrCreate"),
        hostPath("configuration", "/etc/cni/net.d", "DirectoryOrCreate"),
      ],
    }),
  ];
};
