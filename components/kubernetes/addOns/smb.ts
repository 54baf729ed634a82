import type { AddOns } from "../../model/addOns.ts";
import type { AddOnEntry } from "../addOnEntry.ts";
import { type ImageSource, image } from "../images.ts";
import type { Manifest } from "../manifest.ts";
import { rule } from "../rights.ts";
import { nodeName, small } from "../workload.ts";
import { cloudController } from "./cloudController.ts";
import { csiManifests } from "./csi.ts";
import { type CsiDriver, csiSidecars } from "./csiDriver.ts";
import { networking } from "./networking.ts";

const driverName = "smb.csi.k8s.io";
const home = "kube-system";
const nodeEnvironment = { ...nodeName, name: "KUBE_NODE_NAME" };

const securityContext = { privileged: true, capabilities: { drop: ["ALL"] } };

type Share = NonNullable<AddOns["smb"]>["shares"][number];

/** Windows shares as volumes for pods on both systems (kubernetes-csi/csi-driver-smb). */
export const smb: AddOnEntry = {
  name: "smb",
  after: [networking, cloudController],
  settings: ["smb"],
  manifests: (spec, { nodeEndpoint }) =>
    csiManifests(spec, smbDriver(spec, spec.addons.smb?.shares ?? []), nodeEndpoint),
};

/** deploy/csi-smb-controller.yaml, csi-smb-node.yaml, csi-smb-node-windows-hostprocess.yaml. */
function smbDriver(spec: ImageSource, shares: readonly Share[]): CsiDriver {
  const secrets = [...new Set(shares.map(({ secret }) => secret))];
  const plugin = {
    name: "smb",
    image: image(spec, "registry.k8s.io/sig-storage/smbplugin"),
    resources: small("10m", "40Mi", "256Mi"),
  };
  return {
    name: driverName,
    prefix: "csi-smb",
    sidecars: csiSidecars(spec),
    object: { attachRequired: false, podInfoOnMount: true, volumeLifecycleModes: ["Persistent"] },
    controller: {
      plugin: {
        ...plugin,
        args: ["--v=5", "--endpoint=unix:///csi/csi.sock", "--metrics-address=127.0.0.1:29644"],
        // It mounts the share to make and remove the folder of a volume.
        securityContext,
      },
      healthPort: 29642,
      // Only the secrets that the stack names: the provisioner hands them to the driver.
      ...(secrets.length === 0 ? {} : { rules: [rule("", ["secrets"], ["get"], secrets)] }),
    },
    linux: {
      plugin: {
        ...plugin,
        args: ["--v=5", "--endpoint=unix:///csi/csi.sock", "--nodeid=$(KUBE_NODE_NAME)"],
        env: [nodeEnvironment],
        securityContext,
      },
      hostNetwork: true,
      healthPort: 29643,
      registrarPort: 29647,
      // A share may be behind a Service of the cluster.
      dnsPolicy: "ClusterFirstWithHostNet",
    },
    windows: {
      // pkg/smb/smb.go, `inClusterConfig`.
      kubeconfig: false,
      plugin: (endpoint) => ({
        ...plugin,
        image: image(spec, "registry.k8s.io/sig-storage/smbplugin", "windows"),
        command: ["smbplugin.exe"],
        args: [
          "--v=5",
          `--endpoint=${endpoint}`,
          "--nodeid=$(KUBE_NODE_NAME)",
          "--enable-windows-host-process=true",
          "--remove-smb-mapping-during-unmount=true",
        ],
        env: [nodeEnvironment],
        resources: small("10m", "40Mi", "600Mi"),
      }),
    },
    // The kubelet hands it the secret of a volume; it asks the API server nothing.
    nodeRules: [],
    storageClasses: shares.map(shareClass),
  };
}

/** With the provisioner's secret each volume is a separate folder, without it the whole share. */
function shareClass({ name, source, secret, mountOptions }: Share): Manifest {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner: driverName,
    parameters: {
      source,
      "csi.storage.k8s.io/provisioner-secret-name": secret,
      "csi.storage.k8s.io/provisioner-secret-namespace": home,
      "csi.storage.k8s.io/node-stage-secret-name": secret,
      "csi.storage.k8s.io/node-stage-secret-namespace": home,
    },
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
    ...(mountOptions.length === 0 ? {} : { mountOptions }),
  };
}
