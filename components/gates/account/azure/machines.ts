import { regionName } from "../../../model/cloudFacts/ids.ts";
import { mapOf, textOf } from "../../values.ts";
import { diskOf, oneZone } from "../needs.ts";
import { type Ask, doubtful, type Objection, type Question, type Reply, refused, some } from "../question.ts";
import { type AzureMachine, type AzureNeeds, path } from "./needs.ts";

/** What a region has of sizes and kinds of disks. */
async function regionHas(ask: Ask, { subscription, region }: AzureNeeds, kind: string): Promise<readonly Reply[]> {
  const filter = `&$filter=${encodeURIComponent(`location eq '${region}'`)}`;
  const at = path(`${subscription}/providers/Microsoft.Compute/skus`, `2021-07-01${filter}`);
  const all = (await ask("Microsoft.Compute/skus/read", at)).list("value");
  return all.filter((each) => each.text("resourceType") === kind);
}

/** Finds a size by its name, in which Azure ignores case. */
export async function skusOf(ask: Ask, needs: AzureNeeds): Promise<(size: string) => Reply | undefined> {
  const all = await regionHas(ask, needs, "virtualMachines");
  const skus = new Map(all.map((each) => [each.text("name").toLowerCase(), each]));
  return (size) => skus.get(size.toLowerCase());
}

const capability = (sku: Reply | undefined, name: string): string =>
  sku?.find("capabilities", "name", name)?.text("value") ?? "";

export const vcpusOf = (sku: Reply | undefined): number => Number(capability(sku, "vCPUs"));

/** What a profile asks of a size. */
const capabilities: readonly (readonly [name: string, isWanted: (profile: string) => boolean])[] = [
  ["EncryptionAtHostSupported", (profile) => profile.includes('"encryptionAtHost":true')],
  ["AcceleratedNetworkingEnabled", (profile) => profile.includes('"enableAcceleratedNetworking":true')],
  ["PremiumIO", (profile) => profile.includes("Premium")],
  ["LowPriorityCapable", (profile) => profile.includes('"priority":"Spot"')],
];

const definitionRight = "Microsoft.Compute/galleries/images/read";
const galleryRight = "Microsoft.Compute/galleries/images/versions/read";
const marketRight = "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read";

/**
 * Refuses an image that does not boot on a size (Azure/karpenter-provider-azure#616, "cannot boot with OS image or
 * disk"; Azure documentation, supported OS images for remote NVMe): an image without that feature knows SCSI alone.
 */
function* bootOf(image: Reply, name: string, size: string, sku: Reply | undefined, mend: string): Generator<Objection> {
  for (const [what, has, knows, how] of [
    [
      "disk controllers",
      capability(sku, "DiskControllerTypes") || "SCSI",
      image.find("properties.features", "name", "DiskControllerTypes")?.text("value") ?? "SCSI",
      ", of a definition with --features DiskControllerTypes=SCSI,NVMe",
    ],
    ["generations", capability(sku, "HyperVGenerations"), image.text("properties.hyperVGeneration"), ""],
  ] as const) {
    const known = knows.split(/\W+/);
    if (has !== "" && !has.split(/\W+/).some((each) => known.includes(each)))
      yield refused(`${size} has ${what} ${has}, the image ${name} ${knows}`, `another size, or ${mend}${how}`);
  }
}

/** Without a version Azure takes the newest in the region that is not excluded from that. */
async function* ofGallery(
  ask: Ask,
  id: string,
  region: string,
  { sizes: [size = ""], profile }: AzureMachine,
  has: Reply | undefined,
  mend: string,
): AsyncGenerator<Objection> {
  const [definition = "", pinned] = id.split(/\/versions\//i);
  const found = await ask(galleryRight, path(`${definition}/versions`, "2023-07-03"), /NotFound$/);
  const versions = found.isNone ? [] : found.list("value").map(galleryVersion);
  const version = versions.find(({ name }) => name === pinned);
  if (found.isNone || (pinned !== undefined && version === undefined)) yield refused(`there is no image ${id}`, mend);
  else if (version !== undefined && !(version.isMade && version.regions.includes(region)))
    yield refused(
      `the image ${id} is ${version.state} in ${some(version.regions)}, not in ${region}`,
      `replicate it to ${region}, or ${mend}`,
    );
  else if (pinned === undefined && !versions.some(({ isMade, newestIn }) => isMade && newestIn.includes(region)))
    yield refused(`no version of ${id} can be the newest in ${region}`, `replicate one to ${region}, or ${mend}`);
  if (found.isNone) return;
  const image = await ask(definitionRight, path(definition, "2023-07-03"));
  yield* bootOf(image, id, size, has, mend);
  const osType = mapOf(profile.osProfile).windowsConfiguration === undefined ? "Linux" : "Windows";
  for (const [key, wanted] of Object.entries({ osType, osState: "Generalized", architecture: "x64" })) {
    const is = image.text(`properties.${key}`, wanted);
    if (is !== wanted) yield refused(`the image ${id} is ${is}, not ${wanted}`, mend);
  }
  const type = image.find("properties.features", "name", "SecurityType")?.text("value") ?? "";
  // Those that are Supported alone go with both (Azure documentation, Trusted Launch, images).
  if (/^(TrustedLaunch|ConfidentialVM)$/.test(type))
    yield refused(`the image ${id} is of security type ${type} alone`, `${mend}, of security type Standard`);
}

function galleryVersion(reply: Reply) {
  const state = reply.text("properties.provisioningState");
  const places = reply.list("properties.publishingProfile.targetRegions");
  const nameOf = (place: Reply) => regionName(place.text("name"));
  const isExcluded = (each: Reply, at: string) => each.is(`${at}excludeFromLatest`, true);
  return {
    ...{ name: reply.text("name"), state, isMade: state === "Succeeded", regions: places.map(nameOf) },
    newestIn: isExcluded(reply, "properties.publishingProfile.")
      ? []
      : places.filter((place) => !isExcluded(place, "")).map(nameOf),
  };
}

async function* ofMarket(
  ask: Ask,
  needs: AzureNeeds,
  machine: AzureMachine,
  has: Reply | undefined,
  mend: string,
): AsyncGenerator<Objection> {
  const reference = mapOf(mapOf(machine.profile.storageProfile).imageReference);
  const [publisher, offer, sku, version] = ["publisher", "offer", "sku", "version"].map((key) =>
    textOf(reference[key]),
  );
  const name = `${offer} ${sku}`;
  const at = `${needs.subscription}/providers/Microsoft.Compute/locations/${needs.region}/publishers/${publisher}/artifacttypes/vmimage/offers/${offer}/skus/${sku}/versions`;
  // By number, part by part.
  const versions = (await ask(marketRight, path(at, "2024-07-01"), /NotFound$/))
    .list("")
    .map((each) => each.text("name"))
    .sort(new Intl.Collator("en", { numeric: true }).compare);
  const wanted = (version === "latest" ? versions.at(-1) : version) ?? "";
  if (!versions.includes(wanted)) {
    yield refused(`${needs.region} has no image ${publisher} ${name} ${version}`, `${mend}: one of ${some(versions)}`);
    return;
  }
  const image = await ask(marketRight, path(`${at}/${wanted}`, "2024-07-01"));
  const state = image.text("properties.imageDeprecationStatus.imageState", "Active");
  if (state === "Deprecated") yield refused(`the image ${name} ${wanted} is withdrawn`, mend);
  else if (state !== "Active") yield doubtful(`the image ${name} ${wanted} will be withdrawn`, mend);
  yield* diskOf(name, image.number("properties.osDiskImage.sizeInGb", 0), machine);
  const [size = ""] = machine.sizes;
  yield* bootOf(image, name, size, has, mend);
}

export const machineQuestions: readonly Question<AzureNeeds>[] = [
  {
    // Sizes and disks are there, unrestricted, in each zone, and can do what is asked of them.
    id: "size",
    ofMachine: true,
    async *run(needs, ask) {
      const skuOf = await skusOf(ask, needs);
      const disks = (await regionHas(ask, needs, "disks")).map((each) => each.text("name"));
      for (const machine of needs.machines) {
        const { setting, sizes, zones, profile } = machine;
        const { storageAccountType } = mapOf(mapOf(mapOf(profile.storageProfile).osDisk).managedDisk);
        const type = textOf(storageAccountType) ?? "";
        // Those of several zones are not everywhere.
        if (type !== "" && disks.length > 0 && !disks.includes(type))
          yield refused(`${needs.region} has no disks of ${type}`, `another disk.type in ${setting}`);
        const [size = ""] = sizes;
        const found = skuOf(size);
        const mend = `another size or other zones in ${setting}; az vm list-skus --location ${needs.region} --size ${size} --all`;
        if (found === undefined) {
          yield refused(`${needs.region} has no ${size}`, mend);
          continue;
        }
        for (const each of found.list("restrictions", [])) {
          const ofZones = each.text("type") === "Zone";
          const closed = zones.filter((zone) => each.texts("restrictionInfo.zones").includes(zone));
          if (ofZones && closed.length === 0) continue;
          const reason = each.text("reasonCode");
          yield refused(
            `${size} is closed to this subscription in ${ofZones ? `the zones ${closed.join(", ")}` : needs.region} (${reason})`,
            `${mend}; ${reason === "QuotaId" ? "this offer does not have it" : "or ask for it: az support in-subscription"}`,
          );
        }
        const there = found.list("locationInfo", []).flatMap((each) => each.texts("zones"));
        const missing = zones.filter((zone) => !there.includes(zone));
        if (missing.length > 0) yield refused(`${size} is not in the zones ${missing.join(", ")}`, mend);
        yield* oneZone(machine);
        for (const [name, isWanted] of capabilities)
          if (isWanted(JSON.stringify(profile)) && capability(found, name).toLowerCase() === "false")
            yield refused(`${size} has no ${name}`, mend);
      }
    },
  },
  {
    // The feature of the subscription for encryption at the host.
    id: "encryption-at-host",
    ofMachine: true,
    async *run({ machines, subscription }, ask) {
      if (!machines.some(({ profile }) => mapOf(profile.securityProfile).encryptionAtHost === true)) return;
      const feature = `${subscription}/providers/Microsoft.Features/providers/Microsoft.Compute/features/EncryptionAtHost`;
      const found = await ask("Microsoft.Features/providers/features/read", path(feature, "2021-07-01"));
      const state = found.text("properties.state");
      if (state !== "Registered")
        yield refused(
          `the feature EncryptionAtHost of the subscription is ${state}`,
          "az feature register --namespace Microsoft.Compute --name EncryptionAtHost, and when it is Registered: az provider register --namespace Microsoft.Compute",
        );
    },
  },
  {
    // Encryption sets are there, in the region, and have their key.
    id: "keys",
    ofMachine: true,
    async *run({ program, region }, ask) {
      const sent = program.resources.filter(({ type }) => type.startsWith("azure-native:compute:"));
      const sets = JSON.stringify(sent.map(({ inputs }) => inputs)).matchAll(
        /"diskEncryptionSet(?:Id":|":\{"id":)"([^"]+)"/g,
      );
      for (const id of new Set([...sets].map(([, each = ""]) => each))) {
        const found = await ask("Microsoft.Compute/diskEncryptionSets/read", path(id, "2023-10-02"), /NotFound$/);
        const mend = "another one in encryptionKey";
        if (found.isNone) yield refused(`there is no disk encryption set ${id}`, mend);
        else if (regionName(found.text("location")) !== region)
          yield refused(`the disk encryption set ${id} is in ${found.text("location")}, not in ${region}`, mend);
        else if (found.text("properties.autoKeyRotationError.code", "") !== "")
          yield doubtful(
            `the disk encryption set ${id} does not reach its key: ${found.text("properties.autoKeyRotationError.code")}`,
            "give its identity the role Key Vault Crypto Service Encryption User on the vault",
          );
      }
    },
  },
  {
    // Images are there, in the region, not withdrawn, and boot on the sizes.
    id: "image",
    ofMachine: true,
    async *run(needs, ask) {
      const skuOf = await skusOf(ask, needs);
      for (const machine of needs.machines) {
        const mend = `another image in ${machine.setting}`;
        const has = skuOf(machine.sizes[0] ?? "");
        const id = textOf(mapOf(mapOf(machine.profile.storageProfile).imageReference).id);
        if (id === undefined) yield* ofMarket(ask, needs, machine, has, mend);
        else yield* ofGallery(ask, id, needs.region, machine, has, mend);
      }
    },
  },
];
