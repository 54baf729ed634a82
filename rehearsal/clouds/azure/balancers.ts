import {
  listOf,
  mapOf,
  numberOf,
  type PropertyMap,
  type PropertyValue,
  resourcesOfType,
  textOf,
} from "../../../components/gates/resources.ts";
import { same } from "../../../plan/fakes/azureAccess.ts";
import type { RecordedProgram, RecordedResource } from "../../../plan/program/recorded.ts";
import type { HealthRules } from "../../host/loadBalancer.ts";
import type { SimulatedBalancer } from "../cloud.ts";

/**
 * The load balancers of a program on Azure, one per rule. An internal one is named by the record of a private DNS zone
 * with its address, a public one by its public address.
 * @throws Error when machines could resolve no name of one, or its probe is not HTTPS
 */
export function azureBalancers(program: RecordedProgram): readonly SimulatedBalancer[] {
  return resourcesOfType(program, "azure-native:network:LoadBalancer").flatMap((balancer) =>
    listOf(balancer.inputs.loadBalancingRules).map((rule) => simulatedBalancer(program, balancer, mapOf(rule))),
  );
}

function simulatedBalancer(program: RecordedProgram, balancer: RecordedResource, rule: PropertyMap): SimulatedBalancer {
  const { outputs, name } = balancer;
  const frontend = part(outputs.frontendIPConfigurations, rule.frontendIPConfiguration, name);
  const pool = part(outputs.backendAddressPools, rule.backendAddressPool, name);
  const probe = part(outputs.probes, rule.probe, name);
  if (textOf(probe.protocol) !== "Https") throw new Error(`${name}: its probe is not HTTPS`);
  const publicAddress = textOf(mapOf(frontend.publicIPAddress).id);
  const port = numberOf(rule.backendPort) ?? 0;
  return {
    dnsName:
      publicAddress === undefined ? privateName(program, frontend, name) : publicName(program, publicAddress, name),
    port: numberOf(rule.frontendPort) ?? 0,
    targets: members(program, textOf(pool.id)).map((host) => ({ host, port })),
    health: healthRules(probe),
    // A connection that an internal load balancer sends back to its sender is lost (kubernetes/kubeadm#1685).
    answersTargets: publicAddress !== undefined,
  };
}

/**
 * Defaults of the API (Azure/azure-rest-api-specs: ProbePropertiesFormat). A probe ends with its interval, after 30
 * seconds at the latest.
 */
function healthRules(probe: PropertyMap): HealthRules {
  return {
    endsConnections: false,
    answerDecides: true,
    // The probe's own port (the same, `port`), whatever the rule's is.
    port: numberOf(probe.port) ?? 0,
    path: textOf(probe.requestPath) ?? "/",
    timeoutMs: Math.min(numberOf(probe.intervalInSeconds) || 15, 30) * 1000,
    healthyThreshold: 1,
    unhealthyThreshold: numberOf(probe.probeThreshold) || 1,
    failsOpen: textOf(probe.noHealthyBackendsBehavior) === "AllProbedUp",
  };
}

/** The part of the load balancer that a reference names by the last segment of its id. */
function part(list: PropertyValue | undefined, reference: PropertyValue | undefined, balancer: string): PropertyMap {
  const wanted = textOf(mapOf(reference).id)?.split("/").at(-1);
  const found = listOf(list)
    .map(mapOf)
    .find(({ name }) => same(textOf(name), wanted));
  if (found === undefined) throw new Error(`${balancer}: a rule refers to ${wanted}, which it does not have`);
  return found;
}

function members(program: RecordedProgram, pool: string | undefined): readonly string[] {
  return resourcesOfType(program, "azure-native:network:NetworkInterface")
    .flatMap(({ outputs }) => listOf(outputs.ipConfigurations).map(mapOf))
    .filter(({ loadBalancerBackendAddressPools }) =>
      listOf(loadBalancerBackendAddressPools).some((item) => same(textOf(mapOf(item).id), pool)),
    )
    .flatMap(({ privateIPAddress }) => textOf(privateIPAddress) ?? []);
}

function privateName(program: RecordedProgram, frontend: PropertyMap, balancer: string): string {
  const address = textOf(frontend.privateIPAddress);
  const record = resourcesOfType(program, "azure-native:privatedns:PrivateRecordSet").find(({ inputs }) =>
    listOf(inputs.aRecords).some((item) => textOf(mapOf(item).ipv4Address) === address),
  );
  const fqdn = textOf(record?.outputs.fqdn);
  if (record === undefined || fqdn === undefined)
    throw new Error(`${balancer}: no record of a private DNS zone has its address ${address}`);
  const zone = textOf(record.inputs.privateZoneName);
  const linked = resourcesOfType(program, "azure-native:privatedns:VirtualNetworkLink").some(({ inputs }) =>
    same(textOf(inputs.privateZoneName), zone),
  );
  if (!linked) throw new Error(`the private DNS zone ${zone} is linked to no network, so that no machine can ask it`);
  return fqdn.replace(/\.$/, "");
}

function publicName(program: RecordedProgram, id: string, balancer: string): string {
  const address = resourcesOfType(program, "azure-native:network:PublicIPAddress").find((item) => same(item.id, id));
  const fqdn = textOf(mapOf(address?.outputs.dnsSettings).fqdn);
  if (fqdn === undefined) throw new Error(`${balancer}: its public address has no DNS name`);
  return fqdn;
}
