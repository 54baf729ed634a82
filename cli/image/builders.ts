import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import type { WindowsPool } from "../../components/model/pools.ts";

const awsCommands = [
  "Packer (rights: those that its documentation lists for amazon-ebs), in a subnet with a way out:",
  "",
  "    packer init . && packer build -var subnet_id=subnet-... .",
  "",
  "Costs: about 0.10 USD for half an hour, 1 to 1.50 USD a month for the snapshot. An image is for one region and account.",
];

const azureCommands = [
  "Packer (rights: Contributor on the gallery's resource group and on one for the build):",
  "",
  "    packer init . && packer build -var subscription_id=... -var resource_group=... -var gallery=... -var definition=... -var version=... .",
  "",
  "The base is BASE. The definition is Generalized, Gen2, x64, of security type Standard, with DiskControllerTypes=SCSI,NVMe. No extension may be on the machine.",
  "",
  "Costs: about 0.15 USD for 40 minutes, 1 to 2 USD a month and region for a version.",
];

interface Build {
  readonly spec: Pick<ClusterSpec, "cloud" | "region">;
  readonly pool: WindowsPool;
  /** `latest`, an id or a version. */
  readonly base: string;
}

const script = "C:\\Windows\\Temp\\bake.ps1";
const call = `powershell.exe -NoProfile -ExecutionPolicy Bypass -File ${script}`;

/** Takes away what Packer came in by, after its last command: a process of WMI outlives Packer's session. */
const closeDoor = [
  "Start-Sleep 10",
  "$l=Get-ChildItem WSMan:\\localhost\\Listener",
  "$t=$l|ForEach-Object{(Get-ChildItem $_.PSPath|Where-Object Name -eq CertificateThumbprint).Value}|Where-Object{$_}",
  "$l|Remove-Item -Recurse -Force",
  "$t|ForEach-Object{Remove-Item ('Cert:\\LocalMachine\\My\\'+$_)}",
  "Remove-NetFirewallRule -DisplayName packer",
].join(";");

/** AWS's images have no listener with TLS. */
const openDoor = [
  "<powershell>",
  "$c=New-SelfSignedCertificate -DnsName packer -CertStoreLocation Cert:\\LocalMachine\\My",
  "New-Item -Path WSMan:\\localhost\\Listener -Transport HTTPS -Address * -CertificateThumbPrint $c.Thumbprint -Force",
  "New-NetFirewallRule -DisplayName packer -Direction Inbound -Protocol TCP -LocalPort 5986 -Action Allow",
  "</powershell>",
].join("\n");

/** The restart comes whether it was asked for or not, since a seal needs one. */
function provisioners() {
  const asSystem = { elevated_user: "SYSTEM", elevated_password: "" };
  const run = (inline: readonly string[], exitCodes: readonly number[] = [0]) => ({
    powershell: { ...asSystem, inline: [...inline, "exit $LASTEXITCODE"], valid_exit_codes: exitCodes },
  });
  const encoded = Buffer.from(closeDoor, "utf16le").toString("base64");
  return [
    { file: { source: `${hcl("path.root")}/bake.ps1`, destination: script } },
    run([call], [0, 3010]),
    { "windows-restart": { restart_timeout: "30m" } },
    run([call]),
    run([`${call} -Seal -Sysprep`]),
    {
      powershell: {
        inline: [
          `Invoke-CimMethod -ClassName Win32_Process -MethodName Create -Arguments @{CommandLine='powershell.exe -EncodedCommand ${encoded}'} | Out-Null`,
        ],
      },
    },
    { "shell-local": { inline: ["sleep 30"] } },
  ];
}

const hcl = (name: string) => `\${${name}}`;

const variable = (description: string) => ({ type: "string", description });

const winrm = { communicator: "winrm", winrm_use_ssl: true, winrm_insecure: true, winrm_timeout: "30m" } as const;

function packerAws({ spec, pool, base }: Build) {
  const latest = base === "latest";
  return {
    packer: { required_plugins: { amazon: { version: ">= 1.3", source: "github.com/hashicorp/amazon" } } },
    variable: { subnet_id: variable("A subnet whose machines reach the publishers and this computer") },
    ...(latest && {
      data: { "amazon-parameterstore": { base: { region: spec.region, name: pool.release.imageParameter } } },
    }),
    source: {
      "amazon-ebs": {
        pool: {
          ...winrm,
          winrm_username: "Administrator",
          region: spec.region,
          subnet_id: hcl("var.subnet_id"),
          instance_type: pool.size.name,
          source_ami: latest ? hcl("data.amazon-parameterstore.base.value") : base,
          ami_name: `fenestra-${pool.name}-{{timestamp}}`,
          user_data: openDoor,
          imds_support: "v2.0",
          launch_block_device_mappings: {
            device_name: "/dev/sda1",
            volume_type: "gp3",
            volume_size: pool.diskGb,
            delete_on_termination: true,
          },
          // An image of a Windows disk takes up to half an hour (jenkins-infra/packer-images#1661).
          aws_polling: { delay_seconds: 30, max_attempts: 240 },
        },
      },
    },
    build: { sources: ["source.amazon-ebs.pool"], provisioner: provisioners() },
  };
}

function packerAzure({ spec, pool, base }: Build) {
  const { publisher, offer, sku } = pool.release.marketplaceImage;
  return {
    packer: { required_plugins: { azure: { version: ">= 2.0", source: "github.com/hashicorp/azure" } } },
    variable: {
      subscription_id: variable("Subscription of the gallery"),
      resource_group: variable("Resource group of the gallery"),
      gallery: variable("Name of the gallery"),
      definition: variable(
        "Image definition: Generalized, Gen2, x64, security type Standard, DiskControllerTypes=SCSI,NVMe",
      ),
      version: variable("Version to make, three numbers"),
    },
    source: {
      "azure-arm": {
        pool: {
          ...winrm,
          winrm_username: "packer",
          use_azure_cli_auth: true,
          subscription_id: hcl("var.subscription_id"),
          location: spec.region,
          vm_size: pool.size.name,
          os_type: "Windows",
          image_publisher: publisher,
          image_offer: offer,
          image_sku: sku,
          image_version: base,
          os_disk_size_gb: pool.diskGb,
          shared_image_gallery_destination: {
            subscription: hcl("var.subscription_id"),
            resource_group: hcl("var.resource_group"),
            gallery_name: hcl("var.gallery"),
            image_name: hcl("var.definition"),
            image_version: hcl("var.version"),
            target_region: { name: spec.region },
          },
        },
      },
    },
    build: { sources: ["source.azure-arm.pool"], provisioner: provisioners() },
  };
}

export const builders = {
  aws: {
    commands: awsCommands,
    vendors: ({ release }: WindowsPool, base: string) => (base === "latest" ? release.imageParameter : base),
    template: packerAws,
  },
  azure: {
    commands: azureCommands,
    vendors: ({ release }: WindowsPool, base: string) => [...Object.values(release.marketplaceImage), base].join(":"),
    template: packerAzure,
  },
} as const;

export function readme({ spec, pool }: Build, base: string, images: readonly string[]): string {
  return [
    `# An image for the pool ${pool.name}`,
    "",
    "`bake.ps1` holds no secret, but names of your cluster: do not publish it.",
    "",
    ...builders[spec.cloud].commands.map((line) => line.replaceAll("BASE", base)),
    "",
    "Any other builder, as SYSTEM: `bake.ps1` (exit code 0 or 3010), restart Windows, `bake.ps1` (0), `bake.ps1 -Seal -Sysprep` (0), stop, take the",
    "image. Without `-Sysprep` where the builder generalizes Windows itself.",
    "",
    "Keep the `image.json` that the seal prints. Make a new image each month, always from the vendor's: nodes of a month come before",
    "container images of it.",
    "",
    "Pulled:",
    "",
    ...images.map((image) => `- ${image}`),
    "",
  ].join("\n");
}
