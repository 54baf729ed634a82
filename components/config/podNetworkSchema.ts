import { z } from "zod";
import { podNetworkNames } from "../model/podAddressing.ts";
import { pinnedFile } from "./forms.ts";

/** Most pods of a machine whose pods have addresses of its network interface: AKS's own limit; Azure's is 256 addresses on an interface. */
const mostPods = 250;

/** Fields of `network` in the stack file that are about pods. */
export const podNetworkFields = {
  pods: z.enum(podNetworkNames).optional().meta({
    description:
      "How pods get addresses; fixed for a cluster's life. flannel, the default: an overlay with kubernetes.podCidr. azure-cni, on Azure only: pods have addresses of the virtual network, which are made with each machine.",
  }),
  azureCni: z
    .strictObject({
      podsPerNode: z.int().min(10).max(mostPods).default(30).meta({
        description: "Pods that a worker takes, and addresses that it has for them. A new number rolls the pools.",
      }),
      plugin: z
        .strictObject({
          linux: z
            .strictObject(
              pinnedFile(
                {
                  description: "Where the archive lies, a tgz with azure-vnet and azure-vnet-ipam at its top.",
                  example: "https://files.example.com/azure-vnet-cni-linux-amd64.tgz",
                },
                "Digest of the archive: nodes install nothing else.",
              ),
            )
            .meta({ description: "The archive for Linux nodes, version 1.6, 1.7 or 1.8." }),
        })
        .meta({ description: "Azure's CNI plug-in for Linux, of which no digest is published. The one for Windows is in the lock file." }),
    })
    .optional()
    .meta({ description: "Settings of azure-cni, required with it." }),
};
