import { InstanceProfile } from "@pulumi/aws/iam/instanceProfile.js";
import { Policy } from "@pulumi/aws/iam/policy.js";
import { Role } from "@pulumi/aws/iam/role.js";
import { RolePolicyAttachment } from "@pulumi/aws/iam/rolePolicyAttachment.js";
import * as pulumi from "@pulumi/pulumi";
import type { NodeSettings } from "../model/nodeSettings.ts";
import { detachingRole } from "./owners.ts";
import { machineTrust } from "./policies.ts";
import type { PolicyDocument } from "./policyDocument.ts";

export interface IdentityArgs {
  /** What the role may do, by purpose: each becomes a separate policy. None of AWS's managed policies is attached. */
  readonly policies: Readonly<Record<string, pulumi.Input<PolicyDocument>>>;
  /** What the organisation demands of roles. */
  readonly iam: NodeSettings["iam"];
}

/** Path of what is made in IAM; `/` is the default and is left out. */
function pathIn({ rolePath }: NodeSettings["iam"]): { readonly path?: string } {
  return rolePath === "/" ? {} : { path: rolePath };
}

/** What the organisation demands of every role. */
export function roleBounds(iam: NodeSettings["iam"]): {
  readonly path?: string;
  readonly permissionsBoundary?: string;
} {
  const { permissionsBoundary } = iam;
  return { ...pathIn(iam), ...(permissionsBoundary === undefined ? {} : { permissionsBoundary }) };
}

/**
 * The identity of a kind of machine: a role, its policies and the instance profile that assigns it to machines. The
 * policies are separate resources and not inline: all inline policies of a role together may have 10,240 characters,
 * which the controllers' exceed; a separate policy may have 6,144 (AWS IAM User Guide, "IAM and AWS STS quotas").
 */
export class Identity extends pulumi.ComponentResource {
  readonly profileArn: pulumi.Output<string>;
  readonly roleArn: pulumi.Output<string>;
  /** What must exist before a machine with this identity boots. */
  readonly ready: readonly pulumi.Resource[];

  constructor(name: string, args: IdentityArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Identity", name, {}, opts);
    // A role's name has at most 64 characters (IAM User Guide, "IAM and AWS STS quotas"), eight of which are Pulumi's
    // suffix; the longest names of cluster and pool leave no room for more.
    const roleName = `${name.replace(/-identity$/, "")}-role`;
    const place = pathIn(args.iam);
    const role = new Role(
      roleName,
      {
        ...roleBounds(args.iam),
        ...detachingRole,
        assumeRolePolicy: JSON.stringify(machineTrust()),
        tags: { Name: roleName },
      },
      { parent: this },
    );
    this.ready = Object.entries(args.policies).map(([purpose, document]) => {
      const key = `${name}-${purpose}`;
      const text = pulumi.output(document).apply((known) => JSON.stringify(known));
      const policy = new Policy(key, { ...place, policy: text, tags: { Name: key } }, { parent: this });
      return new RolePolicyAttachment(key, { role: role.name, policyArn: policy.arn }, { parent: this });
    });
    const profile = new InstanceProfile(
      `${name}-profile`,
      { ...place, role: role.name, tags: { Name: `${name}-profile` } },
      { parent: this },
    );
    this.profileArn = profile.arn;
    this.roleArn = role.arn;
    this.registerOutputs({ profileArn: this.profileArn });
  }
}
