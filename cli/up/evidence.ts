import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { messageOf } from "../../components/model/messages.ts";
import { hidesValue } from "../../components/model/problem.ts";
import project from "../../package.json" with { type: "json" };
import { hideSecrets } from "../../plan/program/leaks.ts";
import { clusterIn } from "../kubeconfig.ts";
import { programFolder } from "../packages.ts";
import type { Session } from "./session.ts";
import { runLine, type StepRecord } from "./steps.ts";

/** What a run of `up` has noted for its evidence. */
export interface Notes {
  readonly startedAt: string;
  readonly steps: StepRecord[];
  /** Lines of the update, with their times. */
  readonly timeline: string[];
  /** Results of `verify` as JUnit, once there are any. */
  readonly junit: string;
}

/**
 * All of a first contact with an account that another person needs to judge it, without a secret. What cannot be read is
 * said in its place.
 */
export async function evidenceOf(session: Session | undefined, notes: Notes, code: number): Promise<unknown> {
  const attempt = async <T>(read: () => Promise<T> | T): Promise<T | string> => {
    try {
      return await read();
    } catch (error) {
      return `not known: ${messageOf(error)}`;
    }
  };
  const kubeconfig = await attempt(() => session?.engine.kubeconfig());
  const commit = spawnSync("git", ["-C", programFolder, "rev-parse", "HEAD"], { encoding: "utf8" }).stdout ?? "";
  const found = {
    stack: session?.stack,
    place: session && { cloud: session.spec.cloud, region: session.spec.region },
    outcome: code,
    startedAt: notes.startedAt,
    endedAt: new Date().toISOString(),
    versions: {
      ...{ fenestra: project.version, commit: commit.trim(), node: process.version },
      ...{ pulumi: session?.pulumi, kubernetes: session?.spec.kubernetes.version },
    },
    steps: notes.steps,
    timeline: notes.timeline,
    userData: await attempt(async () => digests((await session?.engine.state()) ?? [])),
    machines: await attempt(() => (session === undefined ? {} : consoles(session))),
    cluster: await attempt(() => (kubeconfig === undefined ? {} : inside(kubeconfig))),
    checks: existsSync(notes.junit) ? readFileSync(notes.junit, "utf8").split("\n") : [],
  };
  return withoutSecrets(found, secretsOf(kubeconfig));
}

/** SHA-256 of the user data of each resource, as the state has it. */
export function digests(resources: readonly unknown[]): Readonly<Record<string, string>> {
  const properties = ["userData", "userDataBase64", "customData"];
  const found = resources.flatMap((resource) => {
    const { urn, inputs } = Object(resource);
    const texts: unknown[] = [
      Object(inputs),
      Object(Object(inputs).osProfile),
      Object(Object(inputs).virtualMachineProfile).osProfile,
    ].flatMap((owner) => properties.map((name) => Object(owner)[name]));
    return texts.flatMap((text) =>
      typeof text === "string"
        ? [[String(urn).split("::").at(-1) ?? "", createHash("sha256").update(text).digest("hex")]]
        : [],
    );
  });
  return Object.fromEntries(found);
}

/** Lines in which a machine tells of its stages. */
const ofStages = /\b(begins|already done|(done|failed) after \d+ s)\b|\bstage\b/;

/** What each machine has told of its stages, by the cloud's own means. */
async function consoles({ spec, signal }: Session): Promise<Readonly<Record<string, readonly string[]>>> {
  const { name, cloud, region } = spec;
  const lines = async (line: string): Promise<readonly string[]> =>
    (await runLine(line, signal).catch(messageOf)).split("\n").filter((each) => each !== "");
  const [list, read] =
    cloud === "aws"
      ? ([
          `aws ec2 describe-instances --region ${region} --filters Name=tag:fenestra:cluster,Values=${name} Name=instance-state-name,Values=running --query 'Reservations[].Instances[].[InstanceId]' --output text`,
          (id: string) => `aws ec2 get-console-output --latest --region ${region} --instance-id ${id} --output text`,
        ] as const)
      : ([
          `az vm list --resource-group fenestra-${name} --query '[].name' --output tsv; az vmss list --resource-group fenestra-${name} --query '[].name' --output tsv`,
          (id: string) =>
            `az vm boot-diagnostics get-boot-log --resource-group fenestra-${name} --name ${id} || az vmss get-instance-view --resource-group fenestra-${name} --name ${id} --instance-id '*' --query '[].extensions[].substatuses[].message' --output tsv`,
        ] as const);
  const found: [string, readonly string[]][] = [];
  for (const id of (await lines(list)).filter((each) => /^[\w-]+$/.test(each)))
    found.push([id, (await lines(read(id))).filter((line) => ofStages.test(line))]);
  return Object.fromEntries(found);
}

const mostEvents = 1000;

async function inside(kubeconfig: string): Promise<object> {
  const { core } = clusterIn(kubeconfig);
  const [{ items: nodes }, { items: events }] = await Promise.all([
    core.listNode(),
    core.listEventForAllNamespaces({ limit: mostEvents }),
  ]);
  return {
    nodes: nodes.map(({ metadata, status }) => ({
      name: metadata?.name,
      pool: metadata?.labels?.["fenestra.dev/pool"],
      createdAt: metadata?.creationTimestamp,
      info: status?.nodeInfo,
      conditions: status?.conditions,
    })),
    events: events.map(({ involvedObject, reason, message, count, firstTimestamp, lastTimestamp }) => ({
      object: `${involvedObject.kind} ${involvedObject.namespace ?? ""}/${involvedObject.name}`,
      ...{ reason, message, count, firstTimestamp, lastTimestamp },
    })),
  };
}

/** Whole values of a kubeconfig that nobody else may have. */
function secretsOf(kubeconfig: string | undefined): readonly string[] {
  const keys = kubeconfig?.match(/(?<=client-key-data: ")[^"]+|(?<=client-key-data: )[^"\s]+/g) ?? [];
  return [...keys, ...keys.map((key) => Buffer.from(key, "base64").toString("utf8"))];
}

/** The same without texts that look like secrets, are ones, or stand under a secret's name. Pure. */
export function withoutSecrets(value: unknown, secrets: readonly string[], path = ""): unknown {
  const clean = (text: string) =>
    hideSecrets(secrets.reduce((left, secret) => left.replaceAll(secret, "[not shown]"), text));
  if (typeof value === "string") return hidesValue(path) ? "[not shown]" : clean(value);
  if (Array.isArray(value)) return value.map((each) => withoutSecrets(each, secrets, path));
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [clean(key), withoutSecrets(each, secrets, `${path}.${key}`)]),
  );
}
