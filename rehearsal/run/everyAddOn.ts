import { z } from "zod";
import { addonsSchema } from "../../components/config/addOnSchema.ts";
import type { StackConfigInput } from "../../components/config/schema.ts";

type Input = Required<NonNullable<StackConfigInput["addons"]>>;

/** Values of documentation for add-ons that are more than a switch: nobody asks for them in a rehearsal. */
const examples: { readonly [Key in keyof Input as Input[Key] extends boolean | undefined ? never : Key]: Input[Key] } =
  {
    gmsa: {
      credentialSpecs: [
        {
          name: "web",
          account: "web1",
          domain: {
            dnsName: "corp.example.com",
            netBiosName: "CORP",
            sid: "S-1-5-21-2126449477-2524075714-3094792973",
            guid: "244818ae-87ac-4fcd-92ec-e79e5252348a",
          },
        },
      ],
    },
    smb: { shares: [{ name: "files", source: "//files.corp.example.com/pods", secret: "files" }] },
    logs: { otlp: { endpoint: "https://otlp.example.com/v1/logs" }, windowsSecurity: true },
  };

/** Every add-on of the schema, switched on. */
export const everyAddOn = {
  ...Object.fromEntries(Object.keys(addonsSchema.shape).map((key) => [key, true])),
  ...examples,
};

/** Rights in the cloud for the sample that reads an object, and two keys of service accounts, as amid a change. */
const identity = { serviceAccountKeys: ["rsa-1", "ecdsa"], workloadIdentity: {} } satisfies StackConfigInput["access"];

const mappingSchema = z.looseObject({});
const poolsSchema = z.array(
  z.looseObject({ autoscale: z.looseObject({ min: z.number(), max: z.number() }).optional() }),
);

/**
 * A stack's config with every add-on, all samples and pods' rights in the cloud, and a node at least in every pool, so
 * that each pod has a place. All else, sizes of the machines included, stays as in the stack file.
 */
export function withEveryAddOn(config: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const pools = poolsSchema.parse(JSON.parse(config["fenestra:pools"] ?? "[]"));
  const manned = pools.map((pool) =>
    pool.autoscale === undefined
      ? pool
      : { ...pool, autoscale: { ...pool.autoscale, min: Math.max(1, pool.autoscale.min) } },
  );
  const own = (key: string) => mappingSchema.parse(JSON.parse(config[key] ?? "{}"));
  // A pool may need the secret of an account of its own.
  const { gmsa = everyAddOn.gmsa } = own("fenestra:addons");
  // The agent of NetworkPolicies is an add-on with the network's switch, and not for every pod network.
  const { pods = "flannel", ...network } = own("fenestra:network");
  return {
    ...config,
    "fenestra:access": JSON.stringify({ ...own("fenestra:access"), ...identity }),
    "fenestra:addons": JSON.stringify({ ...everyAddOn, gmsa }),
    "fenestra:network": JSON.stringify({ ...network, pods, policies: pods === "flannel" ? "linux" : "none" }),
    "fenestra:pools": JSON.stringify(manned),
  };
}
