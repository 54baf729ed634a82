import type { Build } from "./builders.ts";

const commands = {
  aws: [
    "Packer (rights: those that its documentation lists for amazon-ebs), in a subnet with a way out:",
    "",
    "    packer init . && packer build -var subnet_id=subnet-... .",
    "",
    "EC2 Image Builder (rights: EC2InstanceProfileForImageBuilder and s3:GetObject for the machine; imagebuilder:* and iam:PassRole for you):",
    "",
    "    aws s3 cp bake.ps1 s3://BUCKET/bake.ps1",
    "    aws imagebuilder create-component --name fenestra-POOL --semantic-version ... --platform Windows --data file://component.yaml",
    "",
    "Its recipe begins with BASE, has a volume of DISK GiB and gives the component its Source, after updates of Windows. Its images stay until a",
    "lifecycle policy deletes them.",
    "",
    "Costs: about 0.10 USD for half an hour, 1 to 1.50 USD a month for the snapshot. An image is for one region and account.",
  ],
  azure: [
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
  ],
} as const;

/** README.md beside the builders' files. */
export function readme({ spec, pool, sha256 }: Build, base: string, images: readonly string[]): string {
  const own = commands[spec.cloud].map((line) =>
    line.replaceAll("POOL", pool.name).replaceAll("BASE", base).replaceAll("DISK", String(pool.diskGb)),
  );
  return [
    `# An image for the pool ${pool.name}`,
    "",
    `\`bake.ps1\` (SHA-256 ${sha256}) holds no secret, but names of your cluster: do not publish it.`,
    "",
    ...own,
    "",
    "Any other builder, as SYSTEM: `bake.ps1` (exit code 0 or 3010), restart Windows, `bake.ps1` (0), `bake.ps1 -Seal -Sysprep` (0), stop, take the",
    "image. Without `-Sysprep` where the builder generalizes Windows itself.",
    "",
    `Keep the \`image.json\` that the seal prints, for \`fenestra plan --image-json ${pool.name}=image.json\`. Make a new image each month, always from`,
    "the vendor's. Nodes of a month come before container images of it.",
    "",
    "Pulled:",
    "",
    ...images.map((image) => `- ${image}`),
    "",
  ].join("\n");
}
