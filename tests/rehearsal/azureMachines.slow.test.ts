import assert from "node:assert/strict";
import fc from "fast-check";
import { windowsExtensionCommand } from "../../components/machine/windows/userData.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { startedScript } from "../../plan/decode/windowsExtension.ts";
import { collectAzureHosts, collectAzureMachines } from "../../plan/fakes/azureMachines.ts";
import { collectMachines } from "../../plan/fakes/collect.ts";
import { type PropertyMap, Secret } from "../../plan/program/values.ts";
import { idOf, Recording } from "../support/recording.ts";
import { azureCluster, group, inside, subscription } from "./azureCluster.ts";

const compute = `${group}/providers/Microsoft.Compute`;

describe("machines on Azure", () => {
  it("are what a scale set and a VM would run, with name, zone, address and size", () => {
    const seen = collectAzureMachines(azureCluster()).map(({ id, name, zone, privateIp, size, image, group: own }) => [
      id,
      name,
      zone,
      privateIp,
      size,
      image,
      own?.name,
    ]);
    const linux = "Canonical:ubuntu-24_04-lts:server:latest";
    const windows = "MicrosoftWindowsServer:WindowsServer:2022-datacenter-core-g2:latest";
    assert.deepEqual(seen, [
      ["dev-cp-0", "cp-0", "1", "10.0.224.10", "Standard_D2s_v5", linux, undefined],
      ["linux000000", "linux[0]", "1", "10.0.0.4", "Standard_D4s_v5", linux, "dev-linux"],
      ["linux000001", "linux[1]", "2", "10.0.0.5", "Standard_D4s_v5", linux, "dev-linux"],
      ["win2022000000", "win2022[0]", "1", "10.0.0.6", "Standard_D4s_v5", windows, "dev-win2022"],
    ]);
  });

  it("have the resource names that the cloud controller knows", () => {
    assert.deepEqual(
      collectAzureHosts(azureCluster()).map(({ resourceId, resourceName, computerName, os }) => [
        resourceId,
        resourceName,
        computerName,
        os,
      ]),
      [
        [`${compute}/virtualMachines/dev-cp-0`, "dev-cp-0", "dev-cp-0", "linux"],
        [`${compute}/virtualMachineScaleSets/dev-linux/virtualMachines/0`, "dev-linux_0", "linux000000", "linux"],
        [`${compute}/virtualMachineScaleSets/dev-linux/virtualMachines/1`, "dev-linux_1", "linux000001", "linux"],
        [`${compute}/virtualMachineScaleSets/dev-win2022/virtualMachines/0`, "dev-win2022_0", "Win2022000000", "windows"],
      ],
    );
  });

  it("hold the etcd disk by its name, so that a new machine finds it again", () => {
    const [machine] = collectAzureMachines(azureCluster());
    assert.deepEqual(machine?.volumes, [
      { id: undefined, sizeGib: 64, encrypted: true },
      { id: "dev-cp-0-etcd", sizeGib: undefined, encrypted: true },
    ]);
  });

  it("read the very bytes of the custom data", () => {
    const systems = collectAzureMachines(azureCluster()).map(({ userData }) => decodeUserData(userData).system);
    assert.deepEqual(systems, ["linux", "linux", "linux", "windows"]);
  });

  it("count in base 36, as the cloud controller takes a name apart", () => {
    const names = collectAzureMachines(azureCluster(), () => 40).map(({ id }) => id);
    assert.equal(names[1 + 10], "linux00000a");
    assert.equal(names[1 + 36], "linux000010");
    assert.equal(new Set(names).size, 1 + 40 + 40);
  });

  it("are found beside those of AWS", () => {
    assert.equal(collectMachines(azureCluster()).length, 4);
    assert.equal(collectMachines(azureCluster(), () => 3).length, 7);
  });

  const broken: readonly (readonly [what: string, name: string, change: (inputs: PropertyMap) => PropertyMap, RegExp])[] = [
    [
      "computer names that two sets share",
      "win2022",
      (inputs) => inside(inputs, ["virtualMachineProfile", "osProfile", "computerNamePrefix"], "linux"),
      /two machines have the computer name linux000000/,
    ],
    [
      "a Windows computer name of more than 15 characters",
      "win2022",
      (inputs) => inside(inputs, ["virtualMachineProfile", "osProfile", "computerNamePrefix"], "windows222"),
      /windows222000000 has more than 15 characters/,
    ],
    [
      "custom data that is not base64",
      "cp-0",
      (inputs) => inside(inputs, ["osProfile", "customData"], "#cloud-config\n"),
      /cp-0: its custom data is not base64/,
    ],
    [
      "a network interface that nobody made",
      "cp-0",
      (inputs) => inside(inputs, ["networkProfile", "networkInterfaces"], [{ id: "/other" }]),
      /cp-0: its network interface is not a resource of the program/,
    ],
    [
      "a machine without a computer name",
      "cp-0",
      (inputs) => inside(inputs, ["osProfile", "computerName"], null),
      /cp-0: the machine has no computer name/,
    ],
  ];
  for (const [what, name, change, message] of broken) {
    it(`refuses ${what}`, () => {
      assert.throws(() => collectAzureMachines(azureCluster({ [name]: change })), message);
    });
  }
});

describe("the extension of a Windows machine", () => {
  it("starts the payload as the program packs it", () => {
    const windows = collectAzureMachines(azureCluster()).at(-1);
    assert.equal(windows?.startCommand, windowsExtensionCommand());
    assert.equal(startedScript(windows?.startCommand), "C:\\AzureData\\fenestra.ps1");
  });

  const data = "C:\\AzureData\\CustomData.bin";
  const run = "powershell.exe -NoProfile -ExecutionPolicy Bypass -File C:\\a.ps1";
  const refused: readonly (readonly [what: string, command: string | undefined, RegExp])[] = [
    ["no command", undefined, /no extension runs the custom data/],
    ["another source", `copy /y C:\\AzureData\\Other.bin C:\\a.ps1 && ${run}`, /the extension copies C:\\AzureData\\Other.bin/],
    ["another script", `copy /y ${data} C:\\b.ps1 && ${run}`, /to C:\\b.ps1 and runs C:\\a.ps1/],
    ["a name without .ps1", `copy /y ${data} C:\\a && powershell.exe -File C:\\a`, /PowerShell runs no file named C:\\a$/],
    ["a copy that nobody runs", `copy /y ${data} C:\\a.ps1`, /is not a copy and a start/],
    ["quotes", `copy /y "${data}" C:\\a.ps1 && ${run}`, /characters that cmd changes/],
    ["a variable", `copy /y %SYSTEMDRIVE%\\x C:\\a.ps1 && ${run}`, /characters that cmd changes/],
    ["more than cmd takes", `copy /y ${data} C:\\${"a".repeat(8200)}.ps1 && ${run}`, /cmd takes 8191/],
  ];
  for (const [what, command, message] of refused) {
    it(`is refused with ${what}`, () => {
      assert.throws(() => startedScript(command), message);
    });
  }

  it("holds its command once", () => {
    const twice = (inputs: PropertyMap) =>
      inside(
        inputs,
        ["virtualMachineProfile", "extensionProfile", "extensions"],
        [
          {
            publisher: "Microsoft.Compute",
            type: "CustomScriptExtension",
            settings: { commandToExecute: "a" },
            protectedSettings: { commandToExecute: "b" },
          },
        ],
      );
    assert.throws(() => collectAzureMachines(azureCluster({ win2022: twice })), /in settings and in protectedSettings/);
  });
});

describe("the simulated Azure", () => {
  const recording = () => new Recording({ region: "westeurope", accountId: subscription });

  it("gives ids of the resource manager's form, the same in every run", () => {
    const make = () => {
      const all = recording();
      const inputs = { resourceGroupName: "rg", virtualNetworkName: "net", subnetName: "a" };
      return [
        all.add("azure-native:resources:ResourceGroup", "main", { resourceGroupName: "rg" }),
        all.add("azure-native:network:Subnet", "a", inputs),
        all.add("azure-native:privatedns:PrivateRecordSet", "r", {
          resourceGroupName: "rg",
          privateZoneName: "x.internal",
          recordType: "A",
          relativeRecordSetName: "api",
        }),
        all.add("azure-native:network:NatGateway", "nat", { resourceGroupName: "rg" }),
      ].map(idOf);
    };
    const rg = `/subscriptions/${subscription}/resourceGroups/rg`;
    assert.deepEqual(make().slice(0, 3), [
      rg,
      `${rg}/providers/Microsoft.Network/virtualNetworks/net/subnets/a`,
      `${rg}/providers/Microsoft.Network/privateDnsZones/x.internal/A/api`,
    ]);
    assert.match(make()[3] ?? "", /\/natGateways\/nat[0-9a-f]{8}$/);
    assert.deepEqual(make(), make());
  });

  it("never gives the value of a secret back", () => {
    const { outputs } = recording().add("azure-native:keyvault:Secret", "s", {
      resourceGroupName: "rg",
      vaultName: "v",
      secretName: "ca",
      properties: { value: new Secret("hidden"), contentType: "text/plain" },
    });
    assert.deepEqual(Object.keys(Object(outputs.properties)).sort(), ["contentType", "secretUri", "secretUriWithVersion"]);
    assert.equal(Object(outputs.properties).secretUri, "https://v.vault.azure.net/secrets/ca");
  });

  it("refuses a second assignment of a role to the same principal at the same scope", () => {
    const all = recording();
    const assign = (name: string, roleDefinitionId: string, scope: string) =>
      all.add("azure-native:authorization:RoleAssignment", name, { principalId: "p", roleDefinitionId, scope });
    assign("one", "r", "/subscriptions/s/resourceGroups/a");
    assign("other-role", "q", "/subscriptions/s/resourceGroups/a");
    assign("other-scope", "r", "/subscriptions/s/resourceGroups/b");
    assert.throws(() => assign("two", "R", "/subscriptions/s/resourcegroups/A"), /^Error: RoleAssignmentExists/);
  });

  it("refuses a kind whose id it does not know", () => {
    assert.throws(
      () => recording().add("azure-native:cdn:Profile", "x", {}),
      /no simulation of azure-native:cdn:Profile: the form of its id is not known/,
    );
  });

  it("gives a network interface without a fixed address one of its subnet", () => {
    fc.assert(
      fc.property(fc.integer({ min: 16, max: 28 }), fc.stringMatching(/^[a-z]{1,9}$/), (prefix, name) => {
        const all = recording();
        const subnet = all.add("azure-native:network:Subnet", "s", {
          resourceGroupName: "rg",
          virtualNetworkName: "n",
          addressPrefix: `10.1.0.0/${prefix}`,
        });
        const card = all.add("azure-native:network:NetworkInterface", name, {
          resourceGroupName: "rg",
          ipConfigurations: [{ name: "own", subnet: { id: idOf(subnet) } }],
        });
        const [configuration] = Object(card.outputs).ipConfigurations;
        const octets = String(configuration.privateIPAddress).split(".").map(Number);
        const number = octets.reduce((sum, octet) => sum * 256 + octet, 0) - (10 * 2 ** 24 + 2 ** 16);
        assert.ok(number >= 4 && number < 2 ** (32 - prefix) - 1, `${octets.join(".")} in /${prefix}`);
      }),
    );
  });
});
