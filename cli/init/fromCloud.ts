import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Cloud } from "../../components/config/schema.ts";
import { accountLine } from "../up/places.ts";

/** What a cloud says to whoever has signed in; nothing of what it does not say. */
export interface FromCloud {
  readonly account?: string;
  /** Zones that the account may use. */
  readonly zones?: readonly string[];
  /** The caller's own, as the internet sees it. */
  readonly address?: string;
  /** A sentence on how much may run. */
  readonly quota?: string;
}

const limitMs = 10_000;

const asked: Readonly<Record<Cloud, (region: string) => Readonly<Record<"zones" | "quota", string>>>> = {
  aws: (region) => ({
    zones: `aws ec2 describe-availability-zones --region ${region} --filters Name=zone-type,Values=availability-zone --query AvailabilityZones[].ZoneName --output text`,
    quota: `aws service-quotas get-service-quota --region ${region} --service-code ec2 --quota-code L-1216C47A --query Quota.Value --output text`,
  }),
  azure: (region) => ({
    // Each region has three or none, which the program knows.
    zones: "true",
    quota: `az vm list-usage --location ${region} --query [?name.value=='cores'].limit --output tsv`,
  }),
};

/** Asks the cloud where somebody has signed in, by its own program. */
export async function fromCloud(cloud: Cloud, region: string): Promise<FromCloud> {
  const run = async (line: string): Promise<string> => {
    const [program = "", ...args] = line.split(" ");
    const { stdout } = await promisify(execFile)(program, args, { timeout: limitMs }).catch(() => ({ stdout: "" }));
    return stdout.trim();
  };
  const lines = asked[cloud](region);
  const account = await run(accountLine[cloud]);
  if (account === "") return {};
  const [zones, quota, address] = await Promise.all([
    run(lines.zones),
    run(lines.quota),
    fetch("https://checkip.amazonaws.com", { signal: AbortSignal.timeout(limitMs) })
      .then((answer) => answer.text())
      .catch(() => ""),
  ]);
  return {
    account,
    ...(zones === "" ? {} : { zones: zones.split(/\s+/).sort() }),
    ...(/^\d+(\.\d+){3}$/.test(address.trim()) ? { address: address.trim() } : {}),
    ...(quota === ""
      ? {}
      : {
          quota: `${account} may run ${Number(quota)} vCPUs in ${region}; a first cluster takes 6, and 4 more while it rolls`,
        }),
  };
}
