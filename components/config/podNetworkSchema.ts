import { z } from "zod";
import { defaultPodsPerNode, podNetworkNames } from "../model/podAddressing.ts";

/** Most pods of a machine whose pods have addresses of its network interface: AKS's own limit; Azure's is 256 addresses on an interface. */
const mostPods = 250;

/** Fields of `network` in the stack file that are about pods. */
export const podNetworkFields = {
  pods: z
    .enum(podNetworkNames)
    .optional()
    .meta({
      description:
        "How pods get addresses; fixed for a cluster's life. flannel, the default: an overlay with kubernetes.podCidr. azure-cni, on Azure only: pods have addresses of the virtual network, which are made with each machine.",
    }),
  policies: z
    .enum(["none", "linux"])
    .optional()
    .meta({
      description:
        "Whether NetworkPolicies hold, with flannel only: none, the default, or linux, for the pods of Linux nodes; Windows nodes have nothing that enforces them, so what goes from or to their pods is judged where the other end is a Linux pod.",
    }),
  azureCni: z
    .strictObject({
      podsPerNode: z
        .int()
        .min(10)
        .max(mostPods)
        .default(defaultPodsPerNode)
        .meta({ description: "Pods that a worker takes, and addresses that it has for them. A new number rolls the pools." }),
    })
    .optional()
    .meta({ description: "Settings of azure-cni." }),
};
