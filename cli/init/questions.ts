import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { dnsName, nameForm } from "../../components/config/forms.ts";
import type { Cloud } from "../../components/config/schema.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import { cloudNames } from "../../components/model/cloudFacts/facts.ts";
import { listed, type Terminal, UsageError } from "../exit.ts";
import { accountLine } from "../up/places.ts";

export interface Given {
  readonly stack?: string | undefined;
  readonly cloud?: string | undefined;
  readonly region?: string | undefined;
  readonly production?: boolean | undefined;
  readonly allow?: string | undefined;
}

interface Question<T> {
  readonly option: string;
  readonly ask: string;
  readonly allowed: string;
  /** Meaning of an empty answer; without it an answer is needed. */
  readonly preset?: string;
  /** `undefined` for an answer that is not allowed. */
  readonly read: (answer: string) => T | undefined;
}

/**
 * Name, cloud, region and networks are asked for where no option gives them, again after a wrong answer; where nobody can
 * be asked, and for all else, defaults count, which are the cloud's own answers where it gives any.
 *
 * @param look asks the cloud. Default: it is not asked.
 * @throws UsageError for an option that is not allowed, or is needed and missing.
 */
export async function answers(
  given: Given,
  ask: Terminal["ask"],
  look: (cloud: Cloud, region: string) => Promise<FromCloud> = async () => ({}),
): Promise<{ stack: string; file: NewStack; quota: string | undefined }> {
  const get = <T>(option: string | undefined, question: Question<T>) => answerOf(option, question, ask);
  const stack = await get(given.stack, name);
  const cloud = await get(given.cloud, cloudQuestion);
  const region = await get(given.region, regionQuestion(cloud));
  const production = given.production ?? false;
  const found = await look(cloud, region);
  if (found.zones?.length === 0)
    throw new UsageError(`--region ${region}: has no zones for this account; allowed: a region with zones`);
  const own = found.address === undefined ? {} : { preset: `${found.address}/32` };
  const allow = await get(given.allow, { ...allowQuestion, ...(production ? {} : own) });
  const zones = (found.zones ?? cloudFacts[cloud].zones.first(region)).slice(0, production ? 3 : 2);
  const file = { cloud, name: stack, region, zones, production, allow, accountId: found.account };
  return { stack, file, quota: found.quota };
}

async function answerOf<T>(option: string | undefined, question: Question<T>, ask: Terminal["ask"]): Promise<T> {
  if (option !== undefined || ask === undefined) {
    const answer = option ?? question.preset;
    if (answer === undefined) throw new UsageError(`init needs --${question.option}; allowed: ${question.allowed}`);
    const value = question.read(answer);
    if (value === undefined)
      throw new UsageError(`--${question.option} ${answer}: is not allowed; allowed: ${question.allowed}`);
    return value;
  }
  const { preset } = question;
  const prompt = `${question.ask}${preset === undefined || preset === "" ? "" : ` [${preset}]`}: `;
  for (let hint = ""; ; ) {
    const answer = (await ask(`${hint}${prompt}`)).trim() || preset;
    const value = answer === undefined ? undefined : question.read(answer);
    if (value !== undefined) return value;
    hint = `Allowed: ${question.allowed}.\n`;
  }
}

const name: Question<string> = {
  option: "stack",
  ask: "Name of the stack and the cluster",
  allowed: `${nameForm.patternErrorMessage}, at most 20`,
  read: (answer) => (dnsName.test(answer) && answer.length <= 20 ? answer : undefined),
};

const cloudQuestion: Question<NewStack["cloud"]> = {
  option: "cloud",
  ask: "Cloud, aws or azure",
  allowed: "aws, azure",
  read: (answer) => cloudNames.find((name) => name === answer),
};

const regionQuestion = (cloud: Cloud): Question<string> => {
  const { known, example, refusal } = cloudFacts[cloud].regions;
  return {
    option: "region",
    ask: "Region",
    allowed: known.join(", "),
    preset: example,
    // What the rules refuse has their reason.
    read: (answer) => (known.includes(answer) || refusal(answer) !== undefined ? answer : undefined),
  };
};

const allowQuestion: Question<readonly string[]> = {
  option: "allow",
  ask: "Networks that reach the API from outside (198.51.100.0/24, with commas; empty: a private API)",
  allowed: "networks in CIDR notation, with commas; a single address ends with /32",
  preset: "",
  read: (answer) => (listed(answer).every((item) => /^[\d.]+\/\d+$/.test(item)) ? listed(answer) : undefined),
};

interface NewStack {
  readonly cloud: Cloud;
  readonly name: string;
  readonly region: string;
  readonly zones: readonly string[];
  /** Protection, three control-plane machines, a NAT gateway for each zone. */
  readonly production: boolean;
  /** Networks that reach the API from outside. */
  readonly allow: readonly string[];
  readonly accountId: string | undefined;
}

/** Comments are where the reader decides next; the caller checks it. @param program path from the file's folder */
export function newStackText(stack: NewStack, program = ".."): string {
  const { cloud, production } = stack;
  const account = cloudFacts[cloud].words.account;
  // Else the NAT gateways of all zones but the first would serve nobody.
  const byZone = production && cloudFacts[cloud].network.subnetsSpanZones;
  const count = byZone ? [`      count: ${stack.zones.length}`, "      perZone: true"] : ["      count: 2"];
  const pools = [
    { name: "linux", os: "linux" },
    { name: "win2022", os: "windows-2022" },
  ];
  return [
    `# yaml-language-server: $schema=${program === ".." ? "." : `${program}/stacks`}/schema.json`,
    "# Every setting, with its default: fenestra schema --markdown",
    "config:",
    `  fenestra:cloud: ${cloud}`,
    "  # Part of every resource's name. It cannot be changed later, nor can the region.",
    `  fenestra:name: ${scalar(stack.name)}`,
    `  fenestra:region: ${scalar(stack.region)}`,
    ...(stack.accountId === undefined
      ? [`  # The ${account} that this stack may touch, nothing else:`, '  # fenestra:accountId: "..."']
      : [
          `  # The ${account} that this stack may touch, nothing else.`,
          `  fenestra:accountId: ${JSON.stringify(stack.accountId)}`,
        ]),
    ...(production
      ? [
          "  # Protects the etcd disks and the keys from deletion, leaves the samples out.",
          "  fenestra:environment: production",
        ]
      : []),
    "  fenestra:network:",
    `    # Check that you have these: ${cloudFacts[cloud].zones.query(stack.region)}`,
    "    # In this order for ever. A zone can be added only while each control-plane machine has one for itself.",
    `    zones: [${stack.zones.map(scalar).join(", ")}]`,
    ...(production ? ["    nat: perZone", "  fenestra:controlPlane:", "    replicas: 3"] : []),
    ...access(stack),
    "  fenestra:pools:",
    ...(production
      ? [
          "    # Each takes the newest image at each launch: pin by `image`, here and in controlPlane, what you have tested.",
        ]
      : []),
    ...pools.flatMap(({ name, os }) => [`    - name: ${name}`, `      os: ${os}`, ...count]),
    "",
  ].join("\n");
}

/** The end of the file: what nobody could pin, with the reasons. */
export function acceptedText(reasons: Readonly<Record<string, string>>): string {
  const lines = Object.entries(reasons).map(([id, reason]) => `    ${id}: ${scalar(reason)}\n`);
  return lines.length === 0
    ? ""
    : [
        "  # What Fenestra knows no digest of, and could not pin. The command in a reason ends it; then take its line out.\n",
        "  fenestra:acknowledge:\n",
        ...lines,
      ].join("");
}

function access({ allow }: NewStack): readonly string[] {
  return allow.length === 0
    ? [
        "  # The API is reachable from the network of the cluster only: deploy from inside it, or name your networks:",
        "  # fenestra:access:",
        "  #   public:",
        "  #     allow: [...]",
      ]
    : [
        "  fenestra:access:",
        "    public:",
        "      # Who reaches the API from outside, the deployer included.",
        `      allow: [${allow.map(scalar).join(", ")}]`,
      ];
}

/** A value as YAML, in quotes where needed. */
function scalar(value: string): string {
  return stringify(value, { lineWidth: 0 }).trimEnd();
}

/** What a cloud says to whoever has signed in; nothing of what it does not say. */
interface FromCloud {
  readonly account?: string;
  /** Zones that the account may use. */
  readonly zones?: readonly string[] | undefined;
  /** The caller's own, as the internet sees it. */
  readonly address?: string | undefined;
  /** A sentence on how much may run. */
  readonly quota?: string | undefined;
}

const limitMs = 10_000;

const asked: Readonly<Record<Cloud, (region: string) => Readonly<Record<"zones" | "quota", string>>>> = {
  aws: (region) => ({
    zones: `aws ec2 describe-availability-zones --region ${region} --filters Name=zone-type,Values=availability-zone --query AvailabilityZones[].ZoneName --output text`,
    quota: `aws service-quotas get-service-quota --region ${region} --service-code ec2 --quota-code L-1216C47A --query Quota.Value --output text`,
  }),
  azure: (region) => ({
    // `az account list-locations` of 2.60 has none (azure-cli-core: profiles/_shared.py).
    zones: `az rest --url /subscriptions/{subscriptionId}/locations?api-version=2022-12-01 --query value[?name=='${region}'].[name,availabilityZoneMappings[].logicalZone][][] --output tsv`,
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
    zones: zones
      .match(/\S+/g)
      ?.filter((zone) => cloudFacts[cloud].zones.pattern(region).test(zone))
      .sort(),
    address: /^\d+(\.\d+){3}$/.test(address.trim()) ? address.trim() : undefined,
    quota:
      quota === ""
        ? undefined
        : `${account} may run ${Number(quota)} vCPUs in ${region}; a first cluster takes 6, and 4 more while it rolls`,
  };
}
