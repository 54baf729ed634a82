import type { Build } from "./builders.ts";

const commands = {
  aws: [
    "Packer, in a subnet with a way out (rights: those of the amazon-ebs builder in Packer's documentation):",
    "",
    "    packer init . && packer build -var subnet_id=subnet-... .",
    "",
    "EC2 Image Builder (rights: EC2InstanceProfileForImageBuilder and s3:GetObject on the script for the machine; imagebuilder:* and iam:PassRole for you):",
    "",
    "    aws s3 cp bake.ps1 s3://BUCKET/bake.ps1",
    "    aws imagebuilder create-component --name fenestra-POOL --semantic-version 1.0.0 --platform Windows --data file://component.yaml",
    "",
    "Put the component, with its parameter Source, into a recipe that begins with BASE and has a DISK GiB volume. Updates of Windows belong before it.",
    "Its images and snapshots stay until you delete them: give the pipeline a lifecycle policy.",
    "",
    "Costs: half an hour of a machine (about 0.10 USD), and 1 to 1.50 USD a month for the snapshot. An image is for one region and account; a key",
    "of another account's cannot be shared.",
  ],
  azure: [
    "Packer (rights: Contributor on a resource group for the build, and on the gallery):",
    "",
    "    packer init . && packer build -var subscription_id=... -var resource_group=... -var gallery=... -var definition=... -var version=1.0.0 .",
    "",
    "Azure Image Builder (rights of its identity: galleries/images/versions/write on the gallery, and of yours: Contributor, Managed Identity Operator):",
    "",
    "    az storage blob upload --auth-mode login --account-name ... --container-name ... --name bake.ps1 --file bake.ps1",
    "    az deployment group create --resource-group ... --template-file imageTemplate.json --parameters identity=... definition=... script=...",
    "    az resource invoke-action --action Run --resource-type Microsoft.VirtualMachineImages/imageTemplates --resource-group ... --name fenestra-POOL",
    "",
    "The base is BASE. The definition is Generalized, Gen2, x64, of security type Standard: Trusted Launch takes no version that was made like",
    "this. The machine has no extension, or the seal refuses it; a policy that installs one needs an exemption.",
    "",
    "Costs: 40 minutes of a machine (about 0.15 USD), and 1 to 2 USD a month and region for a version.",
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
    "`bake.ps1` does on a machine of the vendor's image what a node does at its first boot, up to what is its own. It holds no secret, but names of",
    `your cluster: do not publish it. Its SHA-256 is ${sha256}.`,
    "",
    ...own,
    "",
    "By another builder, as SYSTEM or an administrator: `bake.ps1` (exit code 0 or 3010), restart Windows, `bake.ps1` (0), `bake.ps1 -Seal -Sysprep`",
    "(0), stop the machine, take the image. Without `-Sysprep` where the builder generalizes Windows itself; check then that",
    "`HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Setup\\State` has the ImageState `IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE`.",
    "",
    `The seal prints \`image.json\`. Keep it: \`fenestra plan --image-json ${pool.name}=image.json\` says what the image is expected to bring. Then set`,
    "`image:` of the pool to the new id and update. Nodes of a newer month come before container images of it. Never begin with an image of",
    "your own; make a new one each month.",
    "",
    "Pulled:",
    "",
    ...images.map((image) => `- ${image}`),
    "",
  ].join("\n");
}
