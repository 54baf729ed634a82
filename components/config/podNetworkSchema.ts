import { z } from "zod";
import { defaultPodsPerNode, podNetworkNames } from "../model/podAddressing.ts";
import { described, section } from "./forms.ts";

/** Most pods of a machine whose pods have addresses of its network interface: AKS's own limit; Azure's is 256 addresses on an interface. */
const mostPods = 250;

/** Fields of `network` in the stack file that are about pods. */
export const podNetworkFields = {
  pods: described(
    z.enum(podNetworkNames).optional(),
    "How pods get addresses; fixed for a cluster's life. flannel, the default: an overlay with kubernetes.podCidr. azure-cni, on Azure only: pods have addresses of the virtual network, which are made with each machine.",
  ),
  policies: described(
    z.enum(["none", "linux"]).optional(),
    "Whether NetworkPolicies hold, with flannel only: none, the default, or linux, for the pods of Linux nodes; Windows nodes have nothing that enforces them, so what goes from or to their pods is judged where the other end is a Linux pod.",
  ),
  azureCni: section("Settings of azure-cni.", {
    podsPerNode: described(
      z.int().min(10).max(mostPods).default(defaultPodsPerNode),
      "Pods that a worker takes, and addresses that it has for them. A new number rolls the pools.",
    ),
  }).optional(),
};
