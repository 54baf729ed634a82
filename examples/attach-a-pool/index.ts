import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { type AttachedPools, attachedPools } from "../../components/config/attachedPools.ts";
import type { Cloud } from "../../components/config/schema.ts";
import { kubeconfigClient } from "../../components/gates/adminClient.ts";
import { poolGate } from "../../components/gates/poolGate.ts";
import { ConfigError } from "../../components/model/problem.ts";
import type { Attach } from "./attach.ts";

const clouds: Readonly<Record<Cloud, () => Promise<Attach>>> = {
  aws: async () => (await import("./aws.ts")).attachAws,
  azure: async () => (await import("./azure.ts")).attachAzure,
};

/** Attaches the pools of this stack file to the cluster of another stack, and waits for their nodes. */
export default async function attachAPool(): Promise<object> {
  const stack = new pulumi.Config().require("cluster");
  const cluster = new pulumi.StackReference(stack);
  const given = readPools(await deployed(cluster, stack, "config"));
  const api = cluster.requireOutput("kubeconfig").apply((text: unknown) => kubeconfigClient(String(text)));
  const attach = await clouds[given.spec.cloud]();
  const attachment = await deployed(cluster, stack, "attachment");
  const pools = fromRelease(stack, () => attach(given, attachment, api));
  for (const { spec: pool, group, fingerprint, roll } of pools) {
    if (!pool.waitForNodes) continue;
    const release = given.spec.kubernetes.version;
    poolGate(
      `${given.spec.name}-pool-${pool.name}-nodes`,
      { release, pool, fingerprint, roll, api },
      { dependsOn: [group] },
    );
  }
  return { pools: pools.map(({ spec, groupName }) => ({ name: spec.name, os: spec.release.name, group: groupName })) };
}

/** An output of the cluster's last update, as a plain value: a preview must know which resources there are. */
async function deployed(cluster: pulumi.StackReference, stack: string, name: string): Promise<object> {
  const { value, secretValue } = await cluster.getOutputDetails(name);
  const output: unknown = value ?? secretValue;
  if (typeof output === "object" && output !== null) return output;
  throw new pulumi.RunError(`stack ${stack} has no output ${name}: update it with this release of Fenestra first`);
}

/** An attachment of another form is the cluster's, made by another release. */
function fromRelease<T>(stack: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    throw new pulumi.RunError(`output attachment of stack ${stack} is of another release:\n${z.prettifyError(error)}`);
  }
}

/** A mistake in the stack file is shown as it is, without the stack trace of this program. */
function readPools(cluster: object): AttachedPools {
  try {
    return attachedPools(cluster, pulumi.runtime.allConfig()["fenestra:pools"]);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new pulumi.RunError(error.message);
  }
}
