import { listOf, mapOf } from "../../../plan/program/values.ts";
import { type BodyRule, when, zonesOf } from "./rule.ts";

/** Rules on networks, load balancers and their addresses. */
export const networkRules: readonly BodyRule[] = [
  {
    title: "a Standard load balancer has frontends in every zone, or a Standard address",
    source: "Azure documentation, load balancer and availability zones",
    kind: "network:LoadBalancer",
    problem: (inputs) => {
      if (mapOf(inputs.sku).name !== "Standard") return "sku";
      const frontends = listOf(inputs.frontendIPConfigurations).map(mapOf);
      return when(
        frontends.some((each) => (each.publicIPAddress === undefined) !== (zonesOf(each).join() === "1,2,3")),
        "zones of the frontend",
      );
    },
  },
  {
    title: "an HTTP or HTTPS probe has a path, a TCP probe none, and neither a forbidden port",
    source: "Azure documentation, load balancer health probes",
    kind: "network:LoadBalancer",
    problem: (inputs) => {
      const probes = listOf(inputs.probes).map(mapOf);
      const forbidden = [19, 21, 25, 70, 110, 119, 143, 220, 993];
      return when(
        probes.length === 0 ||
          probes.some(
            ({ protocol, requestPath, port, intervalInSeconds }) =>
              (protocol === "Tcp") !== (requestPath === undefined) || forbidden.includes(Number(port)) || Number(intervalInSeconds) < 5,
          ),
        "probe",
      );
    },
  },
  {
    title: "a load-balancing rule gives no outbound, resets idle connections, after 4 to 30 minutes",
    source: "Azure documentation, load balancer TCP reset; outbound rules",
    kind: "network:LoadBalancer",
    problem: (inputs) =>
      when(
        listOf(inputs.loadBalancingRules)
          .map(mapOf)
          .some(
            ({ disableOutboundSnat, enableTcpReset, idleTimeoutInMinutes, enableFloatingIP }) =>
              disableOutboundSnat !== true ||
              enableTcpReset !== true ||
              enableFloatingIP !== false ||
              !(Number(idleTimeoutInMinutes) >= 4 && Number(idleTimeoutInMinutes) <= 30),
          ),
        "rule",
      ),
  },
  {
    title: "a Standard public address is static; for a NAT gateway it lies in the gateway's zone",
    source: "Azure documentation, public IP addresses; NAT gateway and availability zones",
    kind: "network:PublicIPAddress",
    problem: (inputs, { id }, { resources }) => {
      if (mapOf(inputs.sku).name !== "Standard" || inputs.publicIPAllocationMethod !== "Static") return "sku";
      const gateway = resources.find(
        ({ type, inputs: other }) => type.endsWith(":NatGateway") && listOf(other.publicIpAddresses).some((item) => mapOf(item).id === id),
      );
      return when(gateway !== undefined && zonesOf(gateway.inputs).join() !== zonesOf(inputs).join(), "zones");
    },
  },
  {
    title: "a subnet has no implicit way out",
    source: "Azure documentation, default outbound access",
    kind: "network:Subnet",
    problem: (inputs) => when(inputs.defaultOutboundAccess !== false || mapOf(inputs.natGateway).id === undefined, "outbound"),
  },
  {
    title: "our rules lie between 100 and 499, each priority once in a group",
    source: "kubernetes-sigs/cloud-provider-azure: pkg/provider/securitygroup; Azure documentation, network security groups",
    kind: "network:SecurityRule",
    problem: (inputs, own, { resources }) => {
      const twins = resources.filter(
        ({ type, inputs: other }) =>
          type === own.type &&
          other.priority === inputs.priority &&
          other.direction === inputs.direction &&
          other.networkSecurityGroupName === inputs.networkSecurityGroupName,
      );
      const priority = Number(inputs.priority);
      return when(!(priority >= 100 && priority <= 499) || twins.length !== 1, `priority ${priority}`);
    },
  },
  {
    title: "a group's rules are resources of their own, and none stands in its body",
    source: "pulumi/pulumi-azure-native#611",
    kind: "network:NetworkSecurityGroup",
    problem: (inputs) => when(inputs.securityRules !== undefined, "inline rules"),
  },
  {
    title: "a network's subnets are resources of their own, and none stands in its body",
    source: "pulumi/pulumi-azure-native#611",
    kind: "network:VirtualNetwork",
    problem: (inputs) => when(inputs.subnets !== undefined, "inline subnets"),
  },
];
