import { InstanceProfile } from "@pulumi/aws/iam/instanceProfile.js";
import { Policy } from "@pulumi/aws/iam/policy.js";
import { Role } from "@pulumi/aws/iam/role.js";
import { RolePolicyAttachment } from "@pulumi/aws/iam/rolePolicyAttachment.js";
import * as pulumi from "@pulumi/pulumi";
import type { NodeSettings } from "../model/nodeSettings.ts";
import { attachmentOrder, detachingRole } from "./owners.ts";
import { machineTrust } from "./policies.ts";
import type { PolicyDocument } from "./policyDocument.ts";

export interface IdentityArgs {
  /** Rights by purpose, each a separate policy. None of AWS's managed policies is attached. */
  readonly policies: Readonly<Record<string, pulumi.Input<PolicyDocument>>>;
  readonly iam: NodeSettings["iam"];
}

/** IAM's path; the default `/` is left out. */
function pathIn({ rolePath }: NodeSettings["iam"]): { readonly path?: string } {
  return rolePath === "/" ? {} : { path: rolePath };
}

export function roleBounds(iam: NodeSettings["iam"]): {
  readonly path?: string;
  readonly permissionsBoundary?: string;
} {
  const { permissionsBoundary } = iam;
  return { ...pathIn(iam), ...(permissionsBoundary === undefined ? {} : { permissionsBoundary }) };
}

/**
 * Identity of a kind of machine: role, policies and the instance profile that assigns it. The policies are separate
 * because a role's inline ones may have 10,240 characters together, which the controllers' exceed; a separate one may
 * have 6,144 (AWS IAM User Guide, "IAM and AWS STS quotas").
 */
export class Identity extends pulumi.ComponentResource {
  readonly profileArn: pulumi.Output<string>;
  readonly roleArn: pulumi.Output<string>;
  /** What must exist before a machine with this identity boots. */
  readonly ready: readonly pulumi.Resource[];

  constructor(name: string, args: IdentityArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Identity", name, {}, opts);
    // A role's name has at most 64 characters (IAM User Guide, "IAM and AWS STS quotas"), eight of them Pulumi's
    // suffix; the longest cluster and pool names leave no room for more.
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
      return new RolePolicyAttachment(
        key,
        { role: role.name, policyArn: policy.arn },
        { parent: this, ...attachmentOrder },
      );
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
