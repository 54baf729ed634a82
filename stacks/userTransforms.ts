import { readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import * as pulumi from "@pulumi/pulumi";
import { transformsVariable } from "../components/config/stackFile.ts";
import { noteSent } from "../components/gates/sent.ts";
import { fileProblem, isThere } from "../components/model/files.ts";
import { isWithin } from "../components/model/json.ts";
import { messageOf } from "../components/model/messages.ts";
import { ConfigError, problem } from "../components/model/problem.ts";

type Properties = Readonly<Record<string, unknown>>;

interface Relied {
  /** Types with their names, joined by a space; default all. */
  readonly of?: RegExp;
  /** Paths of arguments, or names of options. */
  readonly touched: RegExp;
  readonly why: string;
}

/** What replacement, identity and the rest of the program rely on. */
const relied: readonly Relied[] = [
  { of: /^pulumi:(index:Stash|pulumi:Stack) /, touched: /./, why: "a gate waits and remembers by it" },
  { of: /^pulumi:providers:/, touched: /./, why: "it says which account, region or cluster everything is in" },
  { of: /^tls:|^random:/, touched: /./, why: "the cluster's keys are made of it" },
  {
    of: /^aws:ec2\/launchTemplate:LaunchTemplate .*-control-plane-/,
    touched: /^(userData|imageId)\b/,
    why: "a machine of the control plane gets it when it is replaced for another reason, which this is not",
  },
  {
    touched: /(^|\.)(iamInstanceProfile|instanceProfile|identity|assumeRolePolicy|role|principalId|policy|policyArn)\b/,
    why: "it decides who a machine or a controller is",
  },
  {
    touched: /(^|\.)tags(\[\d+\])?\.?(fenestra:|kubernetes\.io\/cluster|k8s\.io|Name\b|key\b|$)/,
    why: "machines and their rights are found by such tags",
  },
  {
    touched:
      /(?<!^sku\.)(?<=^|\.)(name|namePrefix|\w+Name|bucket|privateIps?|privateIPAddress|fixedIp|region|location)$/,
    why: "names and addresses never change: others refer to them",
  },
  {
    touched: /(^|\.)(cidrBlock|addressPrefix(es)?|addressSpace)\b/,
    why: "machines, certificates and the plan have the ranges of the stack file",
  },
  {
    touched: /^(minSize|maxSize|desiredCapacity|sku\.capacity)$|^tags\.(min|max)$/,
    why: "batches and time limits of rolls, agents of all nodes and free addresses are counted with the stack file's number",
  },
  {
    touched: /^(instanceRefreshs?|upgradePolicy|initialLifecycleHooks)\b/,
    why: "a pool's machines join, drain and roll by it",
  },
  {
    of: /^aws:(ec2\/(instance|networkInterface|volumeAttachment)|ebs\/volume):|^azure-native:compute:(VirtualMachine|Disk) /,
    touched: /^(?!tags\b|opts\.|finalSnapshot$)/,
    why: "a machine of the control plane stops or goes for it, and no gate looks at the others first",
  },
  {
    touched: /^(instanceType|size|sku\.name|overrides|mixedInstancesPolicy\.launchTemplate\.overrides)\b/,
    why: "what a machine keeps for itself and what the autoscaler expects of it are counted with the stack file's size",
  },
  { touched: /^opts\./, why: "order, replacement and protection are decided by it" },
];

/** Whether a value can be looked into: no output, no asset. */
const isOpen = (value: unknown): value is object =>
  typeof value === "object" &&
  value !== null &&
  (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype);

function copyOf(value: unknown): unknown {
  if (!isOpen(value)) return value;
  return Array.isArray(value)
    ? value.map(copyOf)
    : Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copyOf(inner)]));
}

/** Path of a part of what is at a path. */
const below = (value: object, at: string, key: string): string =>
  Array.isArray(value) ? `${at}[${key}]` : at === "" ? key : `${at}.${key}`;

/** Paths at which two values differ, with what is there now; an output is one value. */
function changes(old: unknown, now: unknown, at = ""): readonly (readonly [path: string, now: unknown])[] {
  if (Object.is(old, now)) return [];
  if (!isOpen(old) || !isOpen(now) || Array.isArray(old) !== Array.isArray(now)) return [[at, now]];
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((key) =>
    changes(Reflect.get(old, key), Reflect.get(now, key), below(old, at, key)),
  );
}

/** Options but those that only protect, and arguments that an update then leaves as they are. */
function optionsOf({ protect, ignoreChanges, ...others }: Properties) {
  return {
    others: protect === true ? others : { ...others, protect },
    ignored: Array.isArray(ignoreChanges) ? ignoreChanges.map(String) : [],
  };
}

/**
 * One sentence for each changed path that something relies on.
 *
 * @param before the program's own arguments: what is ignored or taken away as a whole touches all that it holds
 */
function warningsOf(type: string, name: string, paths: readonly string[], before: unknown): readonly string[] {
  const whyOf = (at: string): string | undefined =>
    relied.find((each) => (each.of?.test(`${type} ${name}`) ?? true) && each.touched.test(at))?.why;
  const inside = (value: unknown, at: string): readonly string[] => {
    if (whyOf(at) !== undefined) return [at];
    return isOpen(value) ? Object.entries(value).flatMap(([key, inner]) => inside(inner, below(value, at, key))) : [];
  };
  const known = inside(before, "");
  return paths
    .flatMap((path) => (whyOf(path) === undefined ? known.filter((at) => isWithin(at, path)) : [path]))
    .map((at) => `a transform changes ${at} of ${type} ${name}: ${whyOf(at)}`);
}

/** What is wrong with a transform's result; the SDK takes anything, and waits for ever for the rest. */
function resultProblem(result: unknown, parent: unknown): string | undefined {
  if (result === undefined || result === null) return undefined;
  if (result instanceof Promise) return "it returns a promise: a transform is no async function";
  const { props, opts }: Properties = typeof result === "object" ? { ...result } : {};
  if (!isOpen(props) || typeof opts !== "object" || opts === null) return "it returns no { props, opts }";
  return Reflect.get(opts, "parent") === parent ? undefined : "it changes opts.parent: begin with ...opts";
}

/** A user's transform, with warnings for changes of what the program relies on. */
function watched(transform: pulumi.ResourceTransformation, where: string): pulumi.ResourceTransformation {
  return (args) => {
    const [props, opts] = [copyOf(args.props), { ...args.opts }];
    const refused = (why: string, found: unknown) => mistake(`${where}, for ${args.type} ${args.name}`, found, why);
    const tried = (): ReturnType<typeof transform> => {
      try {
        return transform(args);
      } catch (error) {
        throw refused("it fails", messageOf(error));
      }
    };
    const result = tried();
    const wrong = resultProblem(result, opts.parent);
    if (wrong !== undefined) throw refused(wrong, Object.keys(Object(result)));
    const [before, now] = [optionsOf(opts), optionsOf({ ...(result?.opts ?? args.opts) })];
    const inputs = result?.props ?? args.props;
    const changed = Object.fromEntries(changes(props, inputs));
    // One that is ignored keeps what it has, whatever the program wants.
    const ignored = now.ignored.filter((each) => !before.ignored.includes(each));
    noteSent(args.resource, { inputs, changed, ignored });
    const options = changes({ opts: before.others }, { opts: now.others }).map(([path]) => path);
    const paths = [...Object.keys(changed), ...ignored, ...options];
    for (const text of warningsOf(args.type, args.name, paths, props)) void pulumi.log.warn(text);
    return result;
  };
}

/** A mistake in a stack's files, which a plan tells like the others and Pulumi without a trace. */
function mistake(where: string, found: unknown, why: string): pulumi.RunError {
  const allowed = "export const transforms = [(args) => ({ props, opts }), ...], see docs/transforms.md";
  return withoutTrace(new ConfigError([problem(where, found, why, allowed)]));
}

export function withoutTrace(cause: ConfigError): pulumi.RunError {
  return Object.assign(new pulumi.RunError(cause.message), { cause });
}

/** The exports of a user's file. @throws RunError with the line at which it cannot be read */
async function load(file: string): Promise<Properties> {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 10;
  try {
    return await import(pathToFileURL(file).href);
  } catch (error) {
    const trace = error instanceof Error ? (error.stack ?? "") : "";
    const line = trace.slice(trace.indexOf(`${file}:`)).match(/^.*?:(\d+)/)?.[1];
    const text = line === undefined ? undefined : readFileSync(file, "utf8").split("\n")[Number(line) - 1];
    throw mistake(`${path.basename(file)}${line === undefined ? "" : `:${line}`}`, text?.trim(), messageOf(error));
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/**
 * Registers what `transforms.ts` beside the stack files exports, if it exists.
 *
 * @throws RunError when it cannot be read or exports something else
 */
export async function registerTransforms(): Promise<void> {
  const file = process.env[transformsVariable];
  if (file === undefined || !isThere(file)) return;
  const unread = fileProblem(file);
  if (unread !== undefined) throw mistake(path.basename(file), undefined, unread);
  const { transforms } = await load(path.resolve(file));
  if (!Array.isArray(transforms) || !transforms.every((each) => typeof each === "function"))
    throw mistake(`${path.basename(file)}, transforms`, transforms, "is no list of functions");
  for (const [index, transform] of transforms.entries())
    pulumi.runtime.registerStackTransformation(watched(transform, `${path.basename(file)}, transforms[${index}]`));
}
