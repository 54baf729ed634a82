import { LogGroup } from "@pulumi/aws/cloudwatch/logGroup.js";
import { LogStream } from "@pulumi/aws/cloudwatch/logStream.js";
import * as pulumi from "@pulumi/pulumi";
import { type LogSettings, logCollectors, logGroupName, logsAccount } from "../model/addOns.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { allow, policy } from "./policyDocument.ts";
import type { Grant } from "./workloadIdentity.ts";

export interface LogsArgs {
  readonly spec: Pick<ClusterSpec, "environment" | "name">;
  readonly settings: NonNullable<LogSettings["cloudwatch"]>;
}

/**
 * Log group of a cluster with a stream for each kind of node, which the endpoint for OTLP does not create (Amazon CloudWatch User Guide,
 * "OTLP endpoints"). Cost: what is sent and kept is billed by the gigabyte.
 */
export class Logs extends pulumi.ComponentResource {
  /** The right to write to the group, and to nothing else. */
  readonly grant: Grant;

  constructor(name: string, { spec, settings }: LogsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Logs", name, {}, opts);
    const group = new LogGroup(
      `${name}-group`,
      { name: logGroupName(spec.name), retentionInDays: settings.retentionDays, tags: { Name: `${name}-group` } },
      // In production the audit log outlives a mistake; the last copy is here.
      { parent: this, protect: spec.environment === "production" },
    );
    for (const collector of logCollectors)
      new LogStream(`${name}-${collector}`, { name: collector, logGroupName: group.name }, { parent: this });
    this.grant = { account: logsAccount, policies: [], inline: group.arn.apply(writePolicy) };
    this.registerOutputs({});
  }
}

function writePolicy(groupArn: string): string {
  return JSON.stringify(policy(allow("WriteLogs", { logs: "PutLogEvents DescribeLogStreams" }, [groupArn, `${groupArn}:log-stream:*`])));
}
