import { at } from "../json.ts";
import { type CloudFacts, names } from "./facts.ts";
import { azureController, azureMachineSize } from "./machineSizes.ts";

/** The platform, two ports of which hand out certificates and extension settings. */
const platform = "168.63.129.16";

const drain = { linux: 270, windows: 600 } as const;

/** Letters after the number of a D, E or F size; no match for other families. */
const sizeLetters = /^Standard_[DEF]\d+(?:-\d+)?([a-z]*)/;

/**
 * Words that Azure refuses in names of vaults, the storage account and the API's public name, which begin with the
 * cluster's name (Azure documentation, "Resolve reserved resource name errors"). The account's omits the hyphens.
 */
const reservedWords = /microsoft|windows|^login/;

/**
 * What Azure has against another size of a set with machines: with another controller of disks they must all be
 * deallocated (REST API, VirtualMachineScaleSetStorageProfile.diskControllerType), and AKS refuses it of its own sets
 * (Azure/azure-cli-extensions#9732). Left out, the controller is the size's own.
 */
export function sizeRefusal(old: unknown, now: unknown): string | undefined {
  // A transform's may not be known yet.
  const [before, after] = [old, now].map((sku) => /^Standard_[\w-]+/.exec(String(at(sku, "name")))?.[0]);
  const [from, to] = [azureController(before), azureController(after)];
  return from === undefined || to === undefined || from === to || at(old, "capacity") === 0
    ? undefined
    : `is refused: ${after} has its disks by ${to}, ${before} by ${from}; undo it, add a pool of another name with the new size, move the pods and remove this one`;
}

/** A failed machine's network interface is its own for three minutes (rancher/machine#359). */
export const interfaceHeld = /NicReservedForAnotherVm/;

export const azure: CloudFacts = {
  name: "azure",
  settings: names(`
    encryptionAtHost addons.logs.azureMonitor access.workloadIdentity.serviceAccounts[].roles network.azureCni
    network.natAddresses network.existing.resourceGroup network.existing.controllerRole`),
  podNetworks: ["flannel", "azure-cni"],
  nameRefusal: (name) =>
    reservedWords.test(name) || reservedWords.test(name.replaceAll("-", ""))
      ? {
          message: "makes names of a vault and a storage account that Azure refuses: ReservedResourceName",
          allowed: "a name without microsoft and windows, hyphens not counted, that does not begin with login",
          remedy: "choose a name such as win-lab",
        }
      : undefined,
  // Microsoft, "Prepare for Key Vault API version 2026-02-01 and later"; Azure/azure-cli#34020. @pulumi/azure-native
  // 3.28.0 calls 2024-11-01.
  apiRetirements: [
    {
      what: "Key Vault's control plane before version 2026-02-01, by which vaults and their secrets are made",
      day: "2027-02-27",
      remedy:
        "Before that day take a release of Fenestra whose @pulumi/azure-native calls 2026-02-01 or later, and run an update (docs/azure.md, Key Vault after 27 February 2027).",
    },
  ],
  words: {
    title: "Azure",
    account: "Azure subscription",
    network: "VNet",
    secrets: "Key Vault",
    secret: "Key Vault",
    bucket: "Storage",
  },
  account: { pattern: /^(?!\d{12}$)/, words: "an Azure subscription id", fake: "00000000-0000-0000-0000-000000000000" },
  regions: {
    pattern: /^[a-z]+\d*$/,
    words: "the name of a region of Azure, such as westeurope",
    example: "westeurope",
    // Azure documentation, "List of Azure regions".
    known: names(`
      eastus eastus2 centralus northcentralus southcentralus westcentralus westus westus2 westus3 canadacentral canadaeast
      brazilsouth brazilsoutheast mexicocentral chilecentral northeurope westeurope uksouth ukwest francecentral francesouth
      germanywestcentral germanynorth switzerlandnorth switzerlandwest norwayeast norwaywest swedencentral swedensouth
      polandcentral italynorth spaincentral austriaeast belgiumcentral denmarkeast israelcentral qatarcentral uaenorth
      uaecentral southafricanorth southafricawest centralindia southindia westindia eastasia southeastasia indonesiacentral
      malaysiawest japaneast japanwest koreacentral koreasouth australiaeast australiasoutheast australiacentral
      australiacentral2 newzealandnorth`),
    refusal: (region) =>
      /^(usgov|usdod|china|chn)/.test(region)
        ? `is a region of Azure ${region.startsWith("us") ? "Government" : "in China"}, where endpoints have a domain that Fenestra's machines do not use`
        : undefined,
    partition: () => undefined,
  },
  zones: {
    ofRegion: false,
    pattern: () => /^[123]$/,
    refusal: () => ({ message: "is not an Azure zone", allowed: '"1", "2" or "3"' }),
    label: "topology.disk.csi.azure.com/zone",
    first: () => ["1", "2", "3"],
    query: (region) => `az vm list-skus --location ${region} --resource-type virtualMachines --zone`,
  },
  sizes: {
    pattern: /^Standard_[A-Za-z0-9_-]+$/,
    words: "an Azure size such as Standard_D2s_v5",
    default: "Standard_D2s_v5",
    read: azureMachineSize,
    // Azure documentation, names of sizes: p stands for Arm.
    arch: (name) => (/^Standard_[A-Z]+\d+(-\d+)?[a-z]*p/.test(name) ? "arm64" : "amd64"),
    // AMD's in place of Intel's, and the other way round.
    another: (name) => {
      const [, series, count = "2", amd, letters, version] =
        /^Standard_([DE])([\d-]+)(a?)([a-z]*)(_v\d)$/.exec(name) ?? [];
      return series === undefined
        ? `Standard_D${/\d+/.exec(name)?.[0] ?? count}s_v5`
        : `Standard_${series}${count}${amd === "" ? "a" : ""}${letters}${version}`;
    },
    known: "B, F, and D and E from version 3 on",
    nesting: "a D or E size of version 3 or later (AMD: 5 or later)",
    diskRefusal: (size) => {
      const letters = sizeLetters.exec(size)?.[1];
      return letters === undefined || letters.includes("s")
        ? undefined
        : {
            message: "cannot have Premium disks, which every machine of Fenestra has",
            allowed: "a size with an s after the number, such as Standard_D2s_v5",
          };
    },
    // The autoscaler's list lacks Intel's sizes of version 7, and it reads no tags of a set then
    // (kubernetes/autoscaler: cluster-autoscaler/cloudprovider/azure/azure_template.go, 1.36.0).
    startsFirst: (size) => !/^Standard_[DE]\d+[b-z]*_v[7-9]$/.test(size),
    // LowPriorityCapable is false (Azure documentation, use Azure Spot Virtual Machines, "Limitations").
    spotRefusal: (size) =>
      /^Standard_B\d|_Promo$/i.test(size)
        ? {
            message: "is never given as a spot machine",
            allowed: "a D, E or F size and no promotional one, or spot: false",
          }
        : undefined,
  },
  // A marketplace version, or a gallery's image, with or without a version.
  ownMachine: (cluster) => {
    const name = "object.metadata.name";
    const digits = `[0, 1, 2, 3, 4, 5].map(i, [60466176, 1679616, 46656, 1296, 36, 1][i] *
      "0123456789abcdefghijklmnopqrstuvwxyz".indexOf(${name}.charAt(${name}.size() - 6 + i)))`;
    // kubernetes-sigs/cloud-provider-azure, pkg/provider/azure_vmss.go: getScaleSetVMInstanceID.
    return `variables.machine.endsWith("/virtualmachines/" + ${name}) ||
      variables.machine.endsWith("/virtualmachinescalesets/${cluster.toLowerCase()}-" +
        ${name}.substring(0, ${name}.size() - 6) + "/virtualmachines/" + string(${digits}.sum()))`;
  },
  images: {
    pattern:
      /^\d+\.\d+\.\d+$|^\/subscriptions\/[0-9a-f-]{36}\/resourceGroups\/[^/]+\/providers\/Microsoft\.Compute\/galleries\/[^/]+\/images\/[^/]+(\/versions\/\d+\.\d+\.\d+)?$/i,
    words: "latest, an image version of three numbers with dots, or the id of an image in a gallery",
    // Canonical's begin with the release, Microsoft's with the build.
    ofOther: (image, system) => {
      const [, version] = /^(\d+\.\d+)\.\d+$/.exec(image) ?? [];
      const own = system.family === "linux" ? system.title.replace(/^\D+/, "") : system.build.replace(/^10\.0\./, "");
      return version === undefined || `${version}.`.startsWith(`${own}.`) ? undefined : version;
    },
  },
  disks: {
    types: ["Premium_LRS", "Premium_ZRS", "StandardSSD_LRS", "StandardSSD_ZRS"],
    windowsGb: 128,
    // Microsoft's images in the marketplace (Azure documentation, smalldisk images).
    windowsLeastGb: 127,
    // Azure documentation, introduction to managed disks, "OS disk".
    mostGb: 4095,
  },
  tags: {
    // Azure REST API, "Tags - Create Or Update".
    fits: (name, value) => !/^(azure|microsoft|windows)/i.test(name) && !/\p{Cc}/u.test(value),
    refusal: {
      message: "has a name that Azure reserves, or a control character",
      allowed: "names that begin with neither azure, microsoft nor windows; values on one line",
    },
    takesName: true,
    // 15 (Azure documentation, tag resources, "Limitations"), and the program adds two.
    most: [13, "Azure's DNS zones"],
    ofGroup: 3 + 4 + 3,
    roll: false,
    ignoreCase: true,
    longestHint: Number.POSITIVE_INFINITY,
    ignoresBeginnings: false,
  },
  balancerLooks: { every: 5, failures: 2 },
  network: {
    smallest: 22,
    // Azure REST API, URI of a virtual network.
    id: {
      pattern:
        /^\/subscriptions\/[0-9a-f-]{36}\/resourceGroups\/[\w.()-]+\/providers\/Microsoft\.Network\/virtualNetworks\/[\w.-]+$/i,
      words:
        "the resource id of a virtual network: /subscriptions/.../resourceGroups/.../providers/Microsoft.Network/virtualNetworks/...",
    },
    subnet: {
      isId: (id, network) =>
        id.toLowerCase().startsWith(`${network.toLowerCase()}/subnets/`) &&
        /^\/subnets\/[\w.-]+$/i.test(id.slice(network.length)),
      refusal: (network) => ({
        message: "is not the id of a subnet of the network",
        allowed: `${network}/subnets/...`,
      }),
    },
    // Azure documentation, "TCP/IP performance tuning for Azure VMs", Azure and fragmentation; what VXLAN loses between
    // Linux and Windows: kubernetes-sigs/cluster-api-provider-azure#1335.
    unsplit: 1400,
    subnetsSpanZones: true,
    // Azure documentation, "Azure NAT Gateway resource", performance and scalability.
    natPorts: 64_512,
    sharedSubnet: "another subnet for the control plane than for workers, since its addresses are fixed",
    resourceGroups: true,
    podsOnInterfaces: true,
    addressAnnotations: true,
    balancersInNetwork: true,
    publicSubnets: false,
    // Sources of a network security group (Azure documentation, azure-virtual-network-limits).
    mostCallers: 4000,
    // Network interfaces, and so everything, are in the network's subscription.
    accountOf: (network) => network.split("/")[2],
    // Azure supports private access to its resource manager only for whole management groups (Azure documentation,
    // private link for Azure Resource Manager).
    natRefusal: {
      message: "cuts the cloud controller, the disk driver and the autoscaler off from Azure's resource manager",
      allowed: "single or perZone on Azure",
      remedy: "choose single, which makes nothing in an existing network; nothing comes in by a NAT gateway",
    },
    // DHCP provides it; a safeguard.
    services: [254],
    metadata: [
      { address: "169.254.169.254", port: 80 },
      { address: platform, port: 80 },
      { address: platform, port: 32526 },
    ],
    // Azure/AKS#2988.
    deafUdpPorts: [65_330],
  },
  access: {
    dnsZone: { pattern: /^\//, words: "the resource id of a DNS zone" },
    rights: ["roles"],
    rsaTokens: true,
    signsObjects: false,
    // Azure's load balancers probe /readyz over TLS, known to work with RSA keys alone; CAPZ and ARO use RSA too.
    keyAlgorithm: "RSA-2048",
    logs: "azureMonitor",
  },
  timings: {
    drain,
    // Gone half a minute after the notice (documentation of spot machines).
    spotDrain: { linux: 20, windows: 20 },
    // 5 to 15 minutes (Azure documentation, terminate notification); on Windows a minute longer than the drain.
    termination: { linux: 300, windows: drain.windows + 60 },
    heartbeats: false,
    // A change of the balancer, which the controller tries again after 5, 10 and 20 seconds (kubernetes/cloud-provider:
    // controllers/service/controller.go, minRetryDelay).
    balancerLeaves: 60,
  },
  machines: {
    // "the maximum length of the binary array is 65535 bytes" (REST API, OSProfile.customData).
    userDataBytes: 65_535,
    guardsMetadata: true,
    rollsSpot: false,
    // Azure documentation, scheduled events.
    drainEvents: { leaves: ["Terminate", "Preempt"], returns: ["Reboot", "Redeploy", "Freeze"] },
    windows: {
      // Of a computer name's 15 characters a scale set takes 6 (Azure documentation, virtual machine scale set computer
      // name prefix).
      longestGroup: 9,
      // The extension reports what comes before a restart.
      foreground: true,
      // Azure/AgentBaker, vhdbuilder/packer/windows/sysprep.ps1; the agents as kubernetes-sigs/image-builder has them.
      generalize: {
        command: ["C:\\Windows\\System32\\Sysprep\\sysprep.exe", "/oobe", "/generalize", "/mode:vm", "/quiet", "/quit"],
        agents: ["RdAgent", "WindowsAzureGuestAgent"],
        firstLogon: true,
      },
      statusFiles: "C:\\Packages\\Plugins\\Microsoft.Compute.CustomScriptExtension\\*\\Status\\*.status",
      // The special administration console holds the port (Azure documentation, "Serial Console for Windows").
      console: "",
      // The host is the source (Azure documentation, "Time sync for Windows VMs"); NTP stays.
      clock: {
        calls: [["/config", "/update"]],
        registry: [
          {
            path: "HKLM:\\SYSTEM\\CurrentControlSet\\Services\\W32Time\\TimeProviders\\VMICTimeProvider",
            type: "DWord",
            values: { Enabled: 1 },
            reboot: false,
          },
        ],
      },
      cloudLogs: ["C:\\WindowsAzure\\Logs\\Plugins"],
    },
  },
};
