import { packLinux } from "../../components/machine/linux/cloudConfig.ts";
import { packWindowsAzure, windowsExtensionCommand } from "../../components/machine/windows/userData.ts";
import type { RecordedProgram, RecordedResource } from "../../plan/program/recorded.ts";
import { mapOf, type PropertyMap, Secret } from "../../plan/program/values.ts";
import { exampleControlPlane, exampleLinuxWorker } from "../machine/linux/examples.ts";
import { windowsExamples } from "../machine/windows/examples.ts";
import { idOf, Recording } from "../support/recording.ts";
import { exampleSpec } from "../support/stacks.ts";

/** Subscription of the example. */
export const subscription = "0f5c1c9e-7b0e-4c53-9b38-3f6a5a6f7d10";
/** Resource group of the example, with capitals, which Azure keeps and the cloud controller does not. */
export const group = `/subscriptions/${subscription}/resourceGroups/Dev-RG`;

const roles = {
  secretsUser: "4633458b-17de-408a-b874-0445c86b69e6",
  secretsOfficer: "b86a8fe4-44ce-4948-aee5-eccb2c155cd7",
  blobContributor: "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
  machineContributor: "9980e02c-c2be-4d73-94e8-173b1dc7cf3c",
} as const;

const spec = exampleSpec("azure-dev");
/** Packed once: that takes longer than all the rest. */
const customData = {
  controlPlane: packLinux(exampleControlPlane(spec)),
  linux: packLinux(exampleLinuxWorker(spec)),
  windows: windowsExamples("azure").map(({ payload }) => packWindowsAzure(payload))[0] ?? "",
};

/** Changes the inputs of a resource, by its logical name: a negative control breaks one of them. */
export type Changes = Readonly<Record<string, (inputs: PropertyMap) => PropertyMap>>;

/** A small cluster on Azure as a program registers it: one control-plane machine, two Linux workers, one Windows worker. */
export function azureCluster(changes: Changes = {}): RecordedProgram {
  const recording = new Recording({ region: "westeurope", accountId: subscription });
  const add = (kind: string, name: string, inputs: PropertyMap): RecordedResource => {
    const all = { resourceGroupName: "Dev-RG", location: "westeurope", ...inputs };
    return recording.add(`azure-native:${kind}`, name, changes[name]?.(all) ?? all);
  };
  add("resources:ResourceGroup", "group", {});
  add("network:VirtualNetwork", "net", { virtualNetworkName: "dev-net" });
  const subnet = (name: string, addressPrefix: string) =>
    add("network:Subnet", name, {
      virtualNetworkName: "dev-net",
      subnetName: name,
      addressPrefix,
      serviceEndpoints: [{ service: "Microsoft.KeyVault" }],
    });
  const [controlPlane, workers] = [subnet("control-plane", "10.0.224.0/24"), subnet("workers", "10.0.0.0/20")];
  const identity = (name: string) => add("managedidentity:UserAssignedIdentity", name, { resourceName: `dev-${name}` });
  const [own, theirs] = [identity("control-plane-identity"), identity("worker-identity")];
  const vault = (name: string, subnets: readonly RecordedResource[]) =>
    add("keyvault:Vault", name, {
      vaultName: `azure-dev-${name}-ab12cd`,
      properties: {
        enableRbacAuthorization: true,
        networkAcls: { defaultAction: "Deny", virtualNetworkRules: subnets.map((item) => ({ id: idOf(item) })) },
      },
    });
  const [ca, join] = [vault("ca", [controlPlane]), vault("join", [controlPlane, workers])];
  add("keyvault:Secret", "kubernetes-ca", {
    vaultName: "azure-dev-ca-ab12cd",
    secretName: "kubernetes-ca",
    properties: { value: new Secret("not a key") },
  });
  add("storage:StorageAccount", "snapshots", { accountName: "azuredevetcdab12cd" });
  const container = add("storage:BlobContainer", "container", {
    accountName: "azuredevetcdab12cd",
    containerName: "snapshots",
  });
  const grant = (name: string, holder: RecordedResource, role: keyof typeof roles, scope: string) =>
    add("authorization:RoleAssignment", name, {
      principalId: holder.outputs.principalId ?? "",
      principalType: "ServicePrincipal",
      roleDefinitionId: `/subscriptions/${subscription}/providers/Microsoft.Authorization/roleDefinitions/${roles[role]}`,
      scope,
    });
  grant("own-ca", own, "secretsUser", idOf(ca));
  grant("own-join", own, "secretsOfficer", `${idOf(join)}/secrets/join`);
  grant("own-snapshots", own, "blobContributor", idOf(container));
  grant("own-machines", own, "machineContributor", group);
  grant("worker-join", theirs, "secretsUser", `${idOf(join)}/secrets/join`);

  const balancer = `${group}/providers/Microsoft.Network/loadBalancers/dev-api`;
  add("network:LoadBalancer", "api", {
    loadBalancerName: "dev-api",
    frontendIPConfigurations: [{ name: "front", privateIPAddress: "10.0.224.250", subnet: { id: idOf(controlPlane) } }],
    backendAddressPools: [{ name: "machines" }],
    probes: [
      {
        name: "ready",
        protocol: "Https",
        port: 6443,
        requestPath: "/readyz",
        intervalInSeconds: 5,
        probeThreshold: 2,
      },
    ],
    loadBalancingRules: [
      {
        name: "api",
        frontendPort: 6443,
        backendPort: 6443,
        frontendIPConfiguration: { id: `${balancer}/frontendIPConfigurations/front` },
        backendAddressPool: { id: `${balancer}/backendAddressPools/machines` },
        probe: { id: `${balancer}/probes/ready` },
      },
    ],
  });
  add("privatedns:PrivateZone", "zone", { privateZoneName: "dev.internal" });
  add("privatedns:VirtualNetworkLink", "link", { privateZoneName: "dev.internal", virtualNetworkLinkName: "net" });
  add("privatedns:PrivateRecordSet", "record", {
    privateZoneName: "dev.internal",
    recordType: "A",
    relativeRecordSetName: "api",
    aRecords: [{ ipv4Address: "10.0.224.250" }],
  });

  const card = add("network:NetworkInterface", "cp-0-card", {
    networkInterfaceName: "dev-cp-0",
    ipConfigurations: [
      {
        name: "own",
        privateIPAddress: "10.0.224.10",
        subnet: { id: idOf(controlPlane) },
        loadBalancerBackendAddressPools: [{ id: `${balancer}/backendAddressPools/machines` }],
      },
    ],
  });
  const disk = add("compute:Disk", "cp-0-etcd", { diskName: "dev-cp-0-etcd", diskSizeGB: 16 });
  add("compute:VirtualMachine", "cp-0", {
    vmName: "dev-cp-0",
    zones: ["1"],
    hardwareProfile: { vmSize: "Standard_D2s_v5" },
    identity: { type: "UserAssigned", userAssignedIdentities: [idOf(own)] },
    networkProfile: { networkInterfaces: [{ id: idOf(card) }] },
    osProfile: { computerName: "dev-cp-0", customData: customData.controlPlane },
    storageProfile: {
      imageReference: { publisher: "Canonical", offer: "ubuntu-24_04-lts", sku: "server", version: "latest" },
      osDisk: { diskSizeGB: 64 },
      dataDisks: [{ lun: 0, createOption: "Attach", managedDisk: { id: idOf(disk) } }],
    },
  });
  const pool = (name: string, capacity: number, image: PropertyMap, profile: PropertyMap) =>
    add("compute:VirtualMachineScaleSet", name, {
      vmScaleSetName: `dev-${name}`,
      zones: ["1", "2"],
      sku: { name: "Standard_D4s_v5", capacity },
      identity: { type: "UserAssigned", userAssignedIdentities: [idOf(theirs)] },
      virtualMachineProfile: {
        ...profile,
        networkProfile: {
          networkInterfaceConfigurations: [{ name: "own", ipConfigurations: [{ subnet: { id: idOf(workers) } }] }],
        },
        storageProfile: { imageReference: image, osDisk: { diskSizeGB: 128 } },
      },
    });
  pool(
    "linux",
    2,
    { publisher: "Canonical", offer: "ubuntu-24_04-lts", sku: "server", version: "latest" },
    {
      osProfile: { computerNamePrefix: "linux", customData: customData.linux },
      extensionProfile: { extensions: [health("Linux")] },
    },
  );
  pool(
    "win2022",
    1,
    {
      publisher: "MicrosoftWindowsServer",
      offer: "WindowsServer",
      sku: "2022-datacenter-core-g2",
      version: "latest",
    },
    {
      osProfile: {
        computerNamePrefix: "Win2022",
        windowsConfiguration: { enableAutomaticUpdates: false },
        customData: customData.windows,
      },
      extensionProfile: {
        extensions: [
          health("Windows"),
          {
            name: "bootstrap",
            publisher: "Microsoft.Compute",
            type: "CustomScriptExtension",
            protectedSettings: new Secret({ commandToExecute: windowsExtensionCommand() }),
          },
        ],
      },
    },
  );
  recording.add("kubernetes:core/v1:Secret", "cloud-config", {
    metadata: { name: "azure-cloud-provider", namespace: "kube-system" },
    stringData: { "cloud-config": new Secret(JSON.stringify({ resourceGroup: "dev-rg", vmType: "vmss" })) },
  });
  return recording.program();
}

function health(system: "Linux" | "Windows"): PropertyMap {
  return {
    name: "health",
    publisher: "Microsoft.ManagedServices",
    type: `ApplicationHealth${system}`,
    settings: { protocol: "tcp", port: 10250 },
  };
}

/** Changes one property deep inside: `inside({ a: { b: 1 } }, ["a", "b"], 2)`. */
export function inside(value: PropertyMap, path: readonly string[], changed: PropertyMap[string]): PropertyMap {
  const [key = "", ...rest] = path;
  return { ...value, [key]: rest.length === 0 ? changed : inside(mapOf(value[key]), rest, changed) };
}
