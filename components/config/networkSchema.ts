import { z } from "zod";
import { defaultPodsPerNode, podNetworkNames } from "../model/cidr.ts";
import { cidr, described, ofOrganisation, section } from "./forms.ts";

/** Most pods of a machine that have addresses of its network interface: AKS's own limit; Azure allows 256 addresses. */
const mostPods = 250;

const podNetworkFields = {
  pods: described(
    z.enum(podNetworkNames).optional(),
    "How pods get addresses; fixed for a cluster's life. flannel, the default: an overlay with kubernetes.podCidr. azure-cni, on Azure only: pods have addresses of the virtual network, which are made with each machine.",
  ),
  policies: described(
    z.enum(["none", "linux"]).optional(),
    "Whether NetworkPolicies hold, with flannel only: none, the default, or linux, for the pods of Linux nodes; Windows nodes have nothing that enforces them, so what goes from or to their pods is judged where the other end is a Linux pod.",
  ),
  azureCni: ofOrganisation(
    section("Settings of azure-cni.", {
      podsPerNode: described(
        z.int().min(10).max(mostPods).default(defaultPodsPerNode),
        "Pods that a worker takes, and addresses that it has for them. A new number rolls the pools.",
      ),
    }).optional(),
  ),
};

const existingSubnet = (description: string) =>
  z
    .strictObject({
      id: described(z.string().min(1), "Id of the subnet: subnet-... on AWS, the whole resource id on Azure."),
      cidr: described(cidr, "Address range of the subnet."),
    })
    .meta({ description });

const existingNetworkSchema = section(
  "A network that exists already. Nothing of it is created, changed or deleted, but for what docs/aws.md and docs/azure.md list. What is written here is compared with the cloud in each preview and update.",
  {
    id: described(
      z.string().min(1),
      "Id of the network: vpc-... on AWS, the whole resource id of the virtual network on Azure.",
    ),
    moreCidrs: described(
      z.array(cidr).default([]),
      "Address ranges of the network beside network.cidr, which must be its first one.",
    ),
    subnets: described(
      z.record(
        z.string().min(1),
        z.strictObject({
          private: existingSubnet(
            "Workers and internal load balancers. It must have a way to everything that the machines fetch. On Azure zones may share it.",
          ),
          controlPlane: existingSubnet(
            "Control-plane machines, at fixed addresses from its tenth on, and on Azure the API's load balancer at its fourth. Nothing else may be in it. On Azure zones may share it.",
          ),
          public: existingSubnet(
            "Public load balancer of the API. Needed with access.public; its route table must lead to an internet gateway.",
          ).optional(),
        }),
      ),
      "Subnets by zone, one entry for each of network.zones: private for workers and controlPlane, on AWS also public with access.public; each with id and cidr.",
    ),
    resourceGroup: described(
      z.string().min(1).optional(),
      "Name of an existing resource group for everything that is created. Default a new one, fenestra-<name>. The cluster's controllers may change machines and load balancers of the whole group, so it should hold nothing else.",
    ),
    controllerRole: described(
      z.guid().optional(),
      "Id of the custom role that the cluster's controllers get in the network, where somebody else makes it, such as ci for its workflows: any id from uuidgen. Default the program makes one, for which it needs the right to write role definitions.",
    ),
    tagSubnets: described(
      z.boolean().optional(),
      "Tag the private subnets with kubernetes.io/cluster/<name>: shared, by which the cloud controller prefers them for internal load balancers. Default true. With false name the subnets in an annotation of each Service of type LoadBalancer.",
    ),
  },
);

const dnsSchema = section(
  "Name servers of the machines. Default the cloud's own. Not for an existing network, whose own hold. A running machine takes a change when it renews its address, within hours, on Azure when it restarts.",
  {
    servers: described(
      z.array(z.ipv4()).min(1).max(4),
      "Addresses of name servers, such as domain controllers, at most 4. They must forward what they do not know to the cloud's own resolver.",
    ),
  },
);

export const networkSchema = section("The cloud's network.", {
  cidr: described(
    cidr.default("10.0.0.0/16"),
    "Address range of the VPC or virtual network, a /16 to /21, on Azure to /22. Of an existing network its first range.",
  ),
  zones: described(
    z.array(z.string().min(1)).min(1).max(3),
    "Availability zones in order, one to three: eu-central-1a on AWS, 1, 2, 3 on Azure. The control plane is spread over them in turn, so the order stays, and a zone is appended only while each of its machines has one for itself.",
  ),
  nat: described(
    z.enum(["none", "single", "perZone"]).default("single"),
    "NAT gateways for outbound access: one for all zones, one per zone, or none. None needs httpProxy or a mirror, since the machines then reach nothing but private endpoints. On Azure a pool over several zones uses the gateway of its first zone; set perZone on the pool too. An existing network gets no gateways: single says that it has its own way out, none that it has no other than httpProxy.",
  ),
  natAddresses: described(
    z.int().min(1).max(16).default(1),
    "Public addresses of each NAT gateway. One has 64,512 ports, of which 50,000 lead to one destination at a time: when they are used up, new connections fail. More of them are added and taken away in place.",
  ),
  existing: ofOrganisation(existingNetworkSchema.optional()),
  dns: ofOrganisation(dnsSchema.optional()),
  ...podNetworkFields,
});
