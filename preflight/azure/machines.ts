import { z } from "zod";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { type Ask, doubtful, type Question, refused, some, unless } from "../question.ts";
import { type AzureNeeds, get, listed } from "./needs.ts";

const sku = z.object({
  resourceType: z.string(),
  name: z.string(),
  family: z.string().default(""),
  locationInfo: z.array(z.object({ zones: z.array(z.string()).default([]) })).default([]),
  capabilities: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
  restrictions: z
    .array(
      z.object({
        type: z.string(),
        reasonCode: z.string(),
        restrictionInfo: z.object({ zones: z.array(z.string()).default([]) }).default({ zones: [] }),
      }),
    )
    .default([]),
});

type Skus = ReadonlyMap<string, z.output<typeof sku>>;

/** Sizes of the location by their names. */
export async function skusOf(ask: Ask, { subscription, region }: AzureNeeds): Promise<Skus> {
  const filter = `&$filter=${encodeURIComponent(`location eq '${region}'`)}`;
  const call = get(
    "Microsoft.Compute/skus/read",
    `${subscription}/providers/Microsoft.Compute/skus`,
    "2021-07-01",
    filter,
  );
  const { value } = await ask(call, listed(sku));
  return new Map(value.flatMap((each) => (each.resourceType === "virtualMachines" ? [[each.name, each]] : [])));
}

const capability = (skus: Skus, size: string, name: string): string | undefined =>
  skus.get(size)?.capabilities.find((each) => each.name === name)?.value;

export const vcpusOf = (skus: Skus, size = ""): number => Number(capability(skus, size, "vCPUs") ?? 0);

/** Sizes are there, unrestricted, in each zone, and can do what is asked of them. */
const sizes: Question<AzureNeeds> = {
  id: "size",
  async *run(needs, ask) {
    const skus = await skusOf(ask, needs);
    for (const {
      setting,
      sizes: [size = ""],
      zones,
      profile,
    } of needs.machines) {
      const found = skus.get(size);
      const mend = `another size or other zones in ${setting}; az vm list-skus --location ${needs.region} --size ${size} --all`;
      if (found === undefined) {
        yield refused(`${needs.region} has no ${size}`, mend);
        continue;
      }
      for (const { type, reasonCode, restrictionInfo } of found.restrictions) {
        const closed = type === "Zone" ? zones.filter((zone) => restrictionInfo.zones.includes(zone)) : ["all zones"];
        if (closed.length > 0)
          yield refused(
            `${size} is closed to this subscription in ${type === "Zone" ? `the zones ${closed.join(", ")}` : needs.region} (${reasonCode})`,
            reasonCode === "QuotaId"
              ? `${mend}; this offer does not have it`
              : `${mend}; or ask for it: az support in-subscription`,
          );
      }
      const missing = zones.filter((zone) => !found.locationInfo.some((each) => each.zones.includes(zone)));
      if (missing.length > 0) yield refused(`${size} is not in the zones ${missing.join(", ")}`, mend);
      if (zones.length === 1 && setting !== "fenestra:controlPlane")
        yield doubtful(`${setting} has one zone: a size that is offered may still be sold out there`, mend);
      const wants = [
        [mapOf(profile.securityProfile).encryptionAtHost === true, "EncryptionAtHostSupported"],
        [JSON.stringify(profile).includes(`"enableAcceleratedNetworking":true`), "AcceleratedNetworkingEnabled"],
        [JSON.stringify(profile).includes("Premium"), "PremiumIO"],
      ] as const;
      for (const [wanted, name] of wants)
        if (wanted && capability(skus, size, name)?.toLowerCase() === "false")
          yield refused(`${size} has no ${name}`, mend);
    }
  },
};

/** The feature of the subscription for encryption at the host. */
const encryptionAtHost: Question<AzureNeeds> = {
  id: "encryption-at-host",
  async *run({ machines, subscription }, ask) {
    if (!machines.some(({ profile }) => mapOf(profile.securityProfile).encryptionAtHost === true)) return;
    const path = `${subscription}/providers/Microsoft.Features/providers/Microsoft.Compute/features/EncryptionAtHost`;
    const { properties } = await ask(
      get("Microsoft.Features/providers/features/read", path, "2021-07-01"),
      z.object({ properties: z.object({ state: z.string() }) }),
    );
    if (properties.state !== "Registered")
      yield refused(
        `the feature EncryptionAtHost of the subscription is ${properties.state}`,
        "az feature register --namespace Microsoft.Compute --name EncryptionAtHost, and when it is Registered: az provider register --namespace Microsoft.Compute",
      );
  },
};

/** Images are there, of the second generation where the size is, and not withdrawn. */
const images: Question<AzureNeeds> = {
  id: "image",
  async *run({ machines, subscription, region }, ask) {
    for (const { setting, profile, diskGib } of machines) {
      const reference = mapOf(mapOf(profile.storageProfile).imageReference);
      const [id, publisher, offer, name, version] = ["id", "publisher", "offer", "sku", "version"].map((key) =>
        textOf(reference[key]),
      );
      const mend = `another image in ${setting}`;
      if (id !== undefined) {
        const found = await unless(
          /NotFound$/,
          ask(get("Microsoft.Compute/galleries/images/versions/read", id, "2023-07-03"), gallery),
          undefined,
        );
        const places = found?.properties.publishingProfile.targetRegions.map((each) =>
          each.name.replaceAll(" ", "").toLowerCase(),
        );
        if (found === undefined) yield refused(`there is no image ${id}`, mend);
        else if (found.properties.provisioningState !== "Succeeded" || places?.includes(region) === false)
          yield refused(
            `the image ${id} is ${found.properties.provisioningState} in ${some(places ?? [])}, not in ${region}`,
            `replicate it to ${region}, or ${mend}`,
          );
        continue;
      }
      const path = `${subscription}/providers/Microsoft.Compute/locations/${region}/publishers/${publisher}/artifacttypes/vmimage/offers/${offer}/skus/${name}/versions`;
      const right = "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read";
      const versions = await unless(
        /NotFound$/,
        ask(get(right, path, "2024-07-01"), z.array(z.object({ name: z.string() }))),
        [],
      );
      // By number, part by part.
      const newest = versions
        .map((each) => each.name)
        .toSorted(new Intl.Collator("en", { numeric: true }).compare)
        .at(-1);
      const wanted = version === "latest" ? newest : version;
      if (wanted === undefined || !versions.some((each) => each.name === wanted)) {
        yield refused(
          `${region} has no image ${publisher} ${offer} ${name} ${version}`,
          `${mend}: one of ${some(versions.map((each) => each.name))}`,
        );
        continue;
      }
      const { properties } = await ask(get(right, `${path}/${wanted}`, "2024-07-01"), imageVersion);
      const { imageState = "Active" } = properties.imageDeprecationStatus;
      if (imageState === "Deprecated") yield refused(`the image ${offer} ${name} ${wanted} is withdrawn`, mend);
      else if (imageState !== "Active") yield doubtful(`the image ${offer} ${name} ${wanted} will be withdrawn`, mend);
      const disk = properties.osDiskImage.sizeInGb;
      if (disk !== undefined && diskGib > 0 && disk > diskGib)
        yield refused(
          `the image ${offer} ${name} needs a disk of ${disk} GiB, not ${diskGib}`,
          `diskGb: ${disk} in ${setting}`,
        );
    }
  },
};

const imageVersion = z.object({
  properties: z.object({
    imageDeprecationStatus: z.object({ imageState: z.string().optional() }).default({}),
    osDiskImage: z.object({ sizeInGb: z.number().optional() }).default({}),
  }),
});
const gallery = z.object({
  properties: z.object({
    provisioningState: z.string(),
    publishingProfile: z.object({ targetRegions: z.array(z.object({ name: z.string() })).default([]) }),
  }),
});

export const machineQuestions: readonly Question<AzureNeeds>[] = [sizes, encryptionAtHost, images];
