import { stringify } from "yaml";
import type { Cloud } from "../../components/config/schema.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import type { WindowsFacts } from "../../components/model/operatingSystems.ts";

export interface NewStack {
  readonly cloud: Cloud;
  readonly name: string;
  readonly region: string;
  readonly zones: readonly string[];
  /** Windows releases, a pool of two machines each. */
  readonly windows: readonly WindowsFacts["name"][];
  /** Protects what cannot be made again, and takes three control-plane machines and a NAT gateway for each zone. */
  readonly production: boolean;
  /** Networks that reach the API from outside; without any it stays private. */
  readonly allow: readonly string[];
  /** Whether pods get rights in the cloud by their service accounts. */
  readonly workloadIdentity: boolean;
  readonly accountId: string | undefined;
}

/** The first zones of a region: `eu-central-1a` on AWS, `1` on Azure. */
export function zonesOf(cloud: Cloud, region: string, count: number): readonly string[] {
  return cloudFacts[cloud].zones.first(region).slice(0, count);
}

/**
 * Text of the stack file, with comments where the reader decides next. It may still break a rule: the caller checks it before it is
 * written.
 *
 * @param program path from the file's folder to the program's
 */
export function newStackText(stack: NewStack, program = ".."): string {
  const { cloud, production } = stack;
  const account = cloudFacts[cloud].words.account;
  // Else the NAT gateways of all zones but the first serve nobody.
  const byZone = production && cloudFacts[cloud].network.subnetsSpanZones;
  const count = byZone ? [`      count: ${stack.zones.length}`, "      perZone: true"] : ["      count: 2"];
  const pools = [{ name: "linux", os: "linux" }, ...stack.windows.map((os) => ({ name: os.replace("windows-", "win"), os }))];
  return [
    `# yaml-language-server: $schema=${program === ".." ? "." : `${program}/stacks`}/schema.json`,
    `# Every setting, with its default: ${program === ".." ? "" : `${program}/`}docs/configuration.md`,
    "config:",
    `  fenestra:cloud: ${cloud}`,
    "  # Part of every resource's name. It cannot be changed later, nor can the region.",
    `  fenestra:name: ${scalar(stack.name)}`,
    `  fenestra:region: ${scalar(stack.region)}`,
    ...(stack.accountId === undefined
      ? [`  # The ${account} that this stack may touch, nothing else:`, '  # fenestra:accountId: "..."']
      : [`  # The ${account} that this stack may touch, nothing else.`, `  fenestra:accountId: ${text(stack.accountId)}`]),
    ...(production
      ? ["  # Protects the etcd disks and the keys from deletion, leaves the samples out.", "  fenestra:environment: production"]
      : []),
    "  fenestra:network:",
    `    # Check that you have these: ${cloudFacts[cloud].zones.query(stack.region)}`,
    "    # In this order for ever. A zone can be added only while each control-plane machine has one for itself.",
    `    zones: [${stack.zones.map(scalar).join(", ")}]`,
    ...(production ? ["    nat: perZone"] : []),
    ...(production ? ["  fenestra:controlPlane:", "    replicas: 3"] : []),
    ...access(stack),
    "  fenestra:pools:",
    ...(production
      ? ["    # Each takes the newest image at each launch: pin by `image`, here and in controlPlane, what you have tested."]
      : []),
    ...pools.flatMap(({ name, os }) => [`    - name: ${name}`, `      os: ${os}`, ...count]),
    "",
  ].join("\n");
}

function access({ cloud, allow, workloadIdentity }: NewStack): readonly string[] {
  const identity = [
    // Changed later, it takes three updates.
    ...(cloudFacts[cloud].access.rsaTokens ? ["    # Entra ID takes tokens of RSA keys only.", "    serviceAccountKeys: [rsa-1]"] : []),
    "    # Name the pods' service accounts here: docs/operations.md.",
    "    workloadIdentity:",
    "      serviceAccounts: []",
  ];
  const privately = "# The API is reachable from the network of the cluster only: deploy from inside it, or name your networks:";
  if (allow.length === 0)
    return workloadIdentity
      ? ["  fenestra:access:", ...[privately, "# public:", "#   allow: [...]"].map((line) => `    ${line}`), ...identity]
      : [privately, "# fenestra:access:", "#   public:", "#     allow: [...]"].map((line) => `  ${line}`);
  return [
    "  fenestra:access:",
    "    public:",
    "      # Who reaches the API from outside, the deployer included.",
    `      allow: [${allow.map(scalar).join(", ")}]`,
    ...(workloadIdentity ? identity : []),
  ];
}

/** A value as YAML, in quotes only where it needs them. */
function scalar(value: string): string {
  return stringify(value, { lineWidth: 0 }).trimEnd();
}

/** A value in quotes, since its digits would be read as a number. */
function text(value: string): string {
  return JSON.stringify(value);
}
