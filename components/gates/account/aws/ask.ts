import { Unasked } from "../../poolGate.ts";
import type { Resources } from "../../values.ts";
import type { Ask, Question, Reply } from "../question.ts";
import { type Asking, askCloud } from "../run.ts";
import { awsSender } from "./client.ts";
import { launchQuestions, machineQuestions } from "./machines.ts";
import { type AwsNeeds, awsNeeds } from "./needs.ts";
import { quotaQuestions } from "./quotas.ts";

export { awsSender as sender };

/** What is asked of machines. */
export const ofMachines: readonly Question<AwsNeeds>[] = [...quotaQuestions, ...machineQuestions, ...launchQuestions];

export const ask = <Program extends Resources>(
  asking: Asking<Program>,
  questions: readonly Question<AwsNeeds & { readonly program: Program }>[] = ofMachines,
) => askCloud(asking, awsNeeds<Program>, awsSender, questions);

/** What machines are made of: a launch template's id with its version, or a launch configuration. */
interface Source {
  readonly id: string;
  /** A number or a word; `undefined` of a launch configuration. */
  readonly version: string | undefined;
}

const policy = "MixedInstancesPolicy.LaunchTemplate";

/** What a group, an entry of its policy or a machine names; nothing where an entry leaves it to the policy. */
function sourceOf(each: Reply): readonly Source[] {
  const name = each.text("LaunchConfigurationName", "");
  if (name !== "") return [{ id: `launch configuration ${name}`, version: undefined }];
  return ["LaunchTemplate", `${policy}.LaunchTemplateSpecification`, "LaunchTemplateSpecification"].flatMap((path) => {
    const id = each.text(`${path}.LaunchTemplateId`, "");
    // Default: $Default (Amazon EC2 Auto Scaling API, LaunchTemplateSpecification).
    return id === "" ? [] : { id, version: each.text(`${path}.Version`, "") || "$Default" };
  });
}

/** What machines of a type may be made of. An entry of the policy may have its own template; one by requirements names no type. */
function sources(group: Reply, type: string): readonly Source[] {
  const entries = group
    .list(`${policy}.Overrides`, [])
    .filter((each) => [type, ""].includes(each.text("InstanceType", "")))
    .map(sourceOf);
  const rest = entries.length === 0 || entries.some((each) => each.length === 0) ? sourceOf(group) : [];
  return [...rest, ...entries.flat()];
}

/** Fields of a launch template by the words that stand for their number; machines have the number. */
const words = new Map([
  ["$Latest", "LatestVersionNumber"],
  ["$Default", "DefaultVersionNumber"],
]);

/** A function that puts a source in words, with its number. */
async function naming(ask: Ask, all: readonly Source[]): Promise<(source: Source) => string> {
  const ids = all.flatMap(({ id, version }) => (words.has(version ?? "") ? [id] : []));
  const input = { LaunchTemplateIds: [...new Set(ids)] };
  const found = ids.length === 0 ? undefined : await ask("ec2:DescribeLaunchTemplates", input);
  return ({ id, version }) => {
    if (version === undefined) return id;
    const field = words.get(version);
    const template = found?.find("LaunchTemplates", "LaunchTemplateId", id);
    const known = field === undefined ? version : `${template?.number(field)}`;
    if (!/^\d+$/.test(known)) throw new Unasked(`AWS does not say which version ${version} of ${id} is`);
    return `${id} version ${known}`;
  };
}

/** What is left of a group's roll. @throws Unasked where AWS does not say what machines are to be made of */
export async function rollProblems(ask: Ask, name: string): Promise<readonly string[]> {
  const found = await ask("autoscaling:DescribeAutoScalingGroups", { AutoScalingGroupNames: [name] });
  const group = found.find("AutoScalingGroups", "AutoScalingGroupName", name);
  if (group === undefined) return [`AWS has no group ${name}`];
  const machines = group
    .list("Instances", [])
    .map((each) => ({
      id: each.text("InstanceId"),
      made: sourceOf(each),
      wanted: sources(group, each.text("InstanceType", "")),
    }));
  if (machines.some(({ wanted }) => wanted.length === 0)) throw new Unasked(`AWS names no launch template of ${name}`);
  const named = await naming(
    ask,
    machines.flatMap(({ made, wanted }) => [...made, ...wanted]),
  );
  const older = machines.flatMap(({ id, made, wanted }) => {
    const allowed = wanted.map(named);
    const isNew = made.some((each) => allowed.includes(named(each)));
    return isNew ? [] : [`machine ${id} is not made of ${allowed.join(" or ")}`];
  });
  const [newest] = (await ask("autoscaling:DescribeInstanceRefreshes", { AutoScalingGroupName: name }))
    .list("InstanceRefreshes", [])
    // One that waits for its start is the newest.
    .toSorted((a, b) => b.time("StartTime", Number.POSITIVE_INFINITY) - a.time("StartTime", Number.POSITIVE_INFINITY))
    .map((each) => ({ status: each.text("Status"), reason: each.text("StatusReason", "") }));
  if (newest === undefined || /^(Successful|Cancelled)$/.test(newest.status)) return older;
  return [...older, `the roll of ${name} is ${newest.status}${newest.reason === "" ? "" : `: ${newest.reason}`}`];
}
