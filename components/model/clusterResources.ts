/** What other programs build on: a peering, a rule, a right. No output has a secret. */
export interface ClusterResources<Id> {
  readonly network: { readonly id: Id; readonly subnets: Readonly<Record<string, ZoneSubnetIds<Id>>> };
  readonly securityGroups: { readonly controlPlane: Id; readonly workers: Id };
  /** ARNs of roles on AWS, resource ids of user-assigned identities on Azure. */
  readonly identities: { readonly controlPlane: Id; readonly pools: Readonly<Record<string, Id>> };
  /** The API's load balancers: ARNs on AWS, resource ids on Azure. */
  readonly loadBalancers: { readonly internal: Id; readonly public?: Id };
}

interface ZoneSubnetIds<Id> {
  readonly private: Id;
  readonly controlPlane: Id;
  readonly public?: Id;
}
