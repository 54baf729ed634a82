import type { AzureHost } from "../../../plan/fakes/azureMachines.ts";
import { macOf } from "../../host/network.ts";
import type { EndpointHandler } from "../server.ts";

/** The question of Azure's IPAM plug-in (Azure/azure-container-networking v1.6.48: ipam/azure.go, azureQueryUrl). */
const question = "/machine/plugins?comp=nmagent&type=getinterfaceinfov1";

/**
 * The addresses of the calling machine's network interface, as the platform tells them: in the form that the IPAM plug-in reads (the same,
 * common/ioutil.go, XmlDocument; an example is in ipam/azure_test.go).
 */
export function azureAddresses(hostAt: (address: string) => AzureHost | undefined): EndpointHandler {
  return ({ caller, url }) => {
    const host = hostAt(caller);
    if (host === undefined || url !== question) return { status: 404 };
    const { privateIp, secondaryIps = [] } = host.machine;
    const mac = macOf(privateIp).replaceAll(":", "").toUpperCase();
    const addresses = [privateIp, ...secondaryIps].map((address, index) => `<IPAddress Address="${address}" IsPrimary="${index === 0}"/>`);
    const subnet = `<IPSubnet Prefix="${String(host.subnet.inputs.addressPrefix ?? "")}">${addresses.join("")}</IPSubnet>`;
    const body = `<Interfaces><Interface MacAddress="${mac}" IsPrimary="true">${subnet}</Interface></Interfaces>`;
    return { status: 200, headers: { "content-type": "text/xml; charset=utf-8" }, body };
  };
}
