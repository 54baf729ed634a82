/** What to do with the files on Azure. */
export const azureCommands = [
  "Packer (rights: Contributor on the gallery's resource group and on one for the build):",
  "",
  "    packer init . && packer build -var subscription_id=... -var resource_group=... -var gallery=... -var definition=... -var version=... .",
  "",
  "Azure Image Builder (rights: galleries/images/versions/write for its identity; Contributor and Managed Identity Operator for you), with the URL of",
  "bake.ps1 in a storage account:",
  "",
  "    az deployment group create --resource-group ... --template-file imageTemplate.json --parameters identity=... definition=... script=...",
  "    az resource invoke-action --action Run --resource-type Microsoft.VirtualMachineImages/imageTemplates --resource-group ... --name fenestra-POOL",
  "",
  "The base is BASE. The definition is Generalized, Gen2, x64, of security type Standard. No extension may be on the machine.",
  "",
  "Costs: about 0.15 USD for 40 minutes, 1 to 2 USD a month and region for a version.",
];
