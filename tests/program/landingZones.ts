import type { RecordedProgram, RecordedResource } from "../../plan/program/recorded.ts";
import { listOf, mapOf, type PropertyMap, type PropertyValue } from "../../plan/program/values.ts";

/** An organisation's rule: what it refuses of a resource, in words. */
interface ZoneRule {
  readonly name: string;
  readonly types: RegExp;
  readonly refused: (inputs: PropertyMap, resource: RecordedResource) => string | false;
}

const rule = (name: string, types: RegExp, refused: ZoneRule["refused"]): ZoneRule => ({ name, types, refused });
const azure = (short: string): RegExp => new RegExp(`^azure-native:${short}$`);
const open = (value: PropertyValue | undefined): boolean =>
  value === "*" || value === "Internet" || value === "0.0.0.0/0";

/**
 * Rules with the effect Deny that Azure landing zones assign by default to corp and online subscriptions, for types of
 * ours (Azure/Azure-Landing-Zones-Library, platform/alz: archetypes root, landing_zones and corp, Enforce-GR-KeyVault
 * among them). Deny-Public-Endpoints needs the exemption that docs/limits.md names.
 */
export const azureLandingZone: readonly ZoneRule[] = [
  rule("Deny-Subnet-Without-Nsg", azure("network:Subnet"), ({ networkSecurityGroup }) =>
    mapOf(networkSecurityGroup).id === undefined ? "no security group" : false,
  ),
  rule("Enforce-Subnet-Private", azure("network:Subnet"), ({ defaultOutboundAccess }) =>
    defaultOutboundAccess === false ? false : "implicit way out",
  ),
  rule("Deny-Subnet-Without-Nsg", azure("network:VirtualNetwork"), ({ subnets }) =>
    subnets === undefined ? false : "subnets in the network's own request",
  ),
  rule("Deny-IP-forwarding", azure("network:NetworkInterface"), ({ enableIPForwarding }) =>
    enableIPForwarding === true ? "forwards" : false,
  ),
  rule("Deny-Public-IP-On-NIC", azure("network:NetworkInterface"), ({ ipConfigurations }) =>
    listOf(ipConfigurations).some((each) => mapOf(each).publicIPAddress !== undefined) ? "public address" : false,
  ),
  rule("Deny-MgmtPorts-Internet", azure("network:SecurityRule"), (inputs) => {
    const { access, direction, destinationPortRange, destinationPortRanges, sourceAddressPrefix } = inputs;
    const ports = [destinationPortRange, ...listOf(destinationPortRanges)];
    const from = [sourceAddressPrefix, ...listOf(inputs.sourceAddressPrefixes)];
    return access === "Allow" &&
      direction === "Inbound" &&
      from.some(open) &&
      ports.some((p) => /^(22|3389|\*)$/.test(`${p}`))
      ? "management port from the internet"
      : false;
  }),
  rule("Deny-Storage-http", azure("storage:StorageAccount"), ({ enableHttpsTrafficOnly }) =>
    enableHttpsTrafficOnly === true ? false : "HTTP",
  ),
  rule("Enforce-TLS-SSL", azure("storage:StorageAccount"), ({ minimumTlsVersion }) =>
    minimumTlsVersion === "TLS1_2" ? false : "old TLS",
  ),
  rule("Deny-UnmanagedDisk", azure("compute:VirtualMachine"), ({ storageProfile }) =>
    mapOf(mapOf(storageProfile).osDisk).managedDisk === undefined ? "unmanaged disk" : false,
  ),
  rule("Enforce-GR-KeyVault", azure("keyvault:Vault"), ({ properties }) => {
    const { enableSoftDelete, enablePurgeProtection } = mapOf(properties);
    return enableSoftDelete !== false && enablePurgeProtection === true ? false : "may be purged";
  }),
];

/** Each of a launch template's specifications has the tag, spot requests where the pool has spot. */
function untagged(key: string, { tagSpecifications, instanceMarketOptions }: PropertyMap): string | false {
  const tagged = new Map(listOf(tagSpecifications).map((each) => [mapOf(each).resourceType, mapOf(mapOf(each).tags)]));
  // A control-plane instance has its own tags and card.
  const wanted = tagged.has("instance")
    ? [
        "instance",
        "volume",
        "network-interface",
        ...(instanceMarketOptions === undefined ? [] : ["spot-instances-request"]),
      ]
    : ["volume"];
  const missing = wanted.filter((each) => tagged.get(each)?.[key] === undefined);
  return missing.length > 0 && `no ${key} on ${missing.join(", ")}`;
}

/**
 * Service control policies of AWS Organizations (User Guide, "Example SCPs": require a tag upon resource creation, deny
 * access by requested region; and AWS's aws-samples/service-control-policy-examples: unencrypted volumes, IMDSv2).
 */
export function awsOrganisation(key: string, region: string): readonly ZoneRule[] {
  return [
    rule("required tag", /:LaunchTemplate$/, (inputs) => untagged(key, inputs)),
    rule("required tag", /^pulumi:providers:aws$/, ({ defaultTags }) =>
      `${JSON.stringify(defaultTags)}`.includes(key) ? false : `no default tag ${key}`,
    ),
    rule("required tag", /:Group$/, ({ tags }) =>
      listOf(tags).some((each) => mapOf(each).key === key && mapOf(each).propagateAtLaunch === true)
        ? false
        : `no ${key}`,
    ),
    rule("region", /^aws:|^pulumi:providers:aws$/, (inputs, { type }) =>
      (inputs.region ?? (type.startsWith("aws:") ? region : undefined)) === region ? false : "another region",
    ),
    rule("encryption", /:LaunchTemplate$/, ({ blockDeviceMappings }) =>
      listOf(blockDeviceMappings).every((each) => mapOf(mapOf(each).ebs).encrypted === "true") ? false : "plain disk",
    ),
    rule("encryption", /ebs\/volume:Volume$/, ({ encrypted }) => (encrypted === true ? false : "plain disk")),
    rule("IMDSv2", /:LaunchTemplate$/, ({ metadataOptions }) =>
      mapOf(metadataOptions).httpTokens === "required" ? false : "IMDSv1",
    ),
  ];
}

/** An organisation's refusals, a line each, and the rules that judged anything. */
export function judged(program: RecordedProgram, rules: readonly ZoneRule[]) {
  const looks = program.resources
    .filter(({ read }) => read === undefined)
    .flatMap((resource) =>
      rules
        .filter(({ types }) => types.test(resource.type))
        .map(({ name, refused }) => ({ name, resource: resource.name, why: refused(resource.inputs, resource) })),
    );
  return {
    refusals: looks
      .flatMap(({ name, resource, why }) => (why === false ? [] : [`${name}: ${resource}: ${why}`]))
      .sort(),
    judged: new Set(looks.map(({ name }) => name)),
  };
}
