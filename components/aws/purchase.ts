import type { GroupArgs } from "@pulumi/aws/autoscaling/group.js";
import type { LaunchTemplate, LaunchTemplateArgs } from "@pulumi/aws/ec2/launchTemplate.js";
import * as pulumi from "@pulumi/pulumi";
import type { PoolSpec } from "../model/pools.ts";

/** Whether the group chooses among sizes or kinds of purchase: only then it has a policy for that. */
function isMixed({ furtherSizes, onDemand }: PoolSpec): boolean {
  return furtherSizes.length > 0 || onDemand !== undefined;
}

/** Highest price of a spot machine, as EC2 takes it. */
function highestPrice({ spotMaxPrice }: PoolSpec): string | undefined {
  return spotMaxPrice === undefined ? undefined : String(spotMaxPrice);
}

/**
 * How a machine is bought and where it runs, as part of the launch template. A template that asks for spot is refused by a group with a
 * policy of its own (Amazon EC2 Auto Scaling User Guide, "Auto Scaling groups with multiple instance types and purchase options").
 */
export function purchase(
  pool: PoolSpec,
): Pick<LaunchTemplateArgs, "instanceMarketOptions" | "capacityReservationSpecification" | "placement"> {
  const { capacityReservation: reservation, dedicatedHosts } = pool;
  const maxPrice = highestPrice(pool);
  return {
    ...(pool.spot && !isMixed(pool)
      ? { instanceMarketOptions: { marketType: "spot", ...(maxPrice === undefined ? {} : { spotOptions: { maxPrice } }) } }
      : {}),
    ...(reservation === undefined
      ? {}
      : {
          capacityReservationSpecification: {
            capacityReservationTarget: reservation.startsWith("arn:")
              ? { capacityReservationResourceGroupArn: reservation }
              : { capacityReservationId: reservation },
          },
        }),
    ...(dedicatedHosts === undefined ? {} : { placement: { tenancy: "host", hostResourceGroupArn: dedicatedHosts } }),
  };
}

/** What a group launches: a template, or a template with a policy that chooses among sizes and kinds of purchase. */
export function launches(pool: PoolSpec, template: LaunchTemplate): Pick<GroupArgs, "launchTemplate" | "mixedInstancesPolicy"> {
  // The number and not $Latest, or a new version would start no refresh (terraform-aws-modules/terraform-aws-eks, release 16.1.0).
  const version = pulumi.interpolate`${template.latestVersion}`;
  if (!isMixed(pool)) return { launchTemplate: { id: template.id, version } };
  const { base = 0, percentAboveBase = pool.spot ? 0 : 100 } = pool.onDemand ?? {};
  const spotMaxPrice = highestPrice(pool);
  return {
    mixedInstancesPolicy: {
      launchTemplate: {
        launchTemplateSpecification: { launchTemplateId: template.id, version },
        overrides: [pool.size.name, ...pool.furtherSizes].map((instanceType) => ({ instanceType })),
      },
      instancesDistribution: {
        onDemandAllocationStrategy: "prioritized",
        onDemandBaseCapacity: base,
        onDemandPercentageAboveBaseCapacity: percentAboveBase,
        // What AWS recommends: the pools least likely to be interrupted, and of those the cheapest.
        spotAllocationStrategy: "price-capacity-optimized",
        ...(spotMaxPrice === undefined ? {} : { spotMaxPrice }),
      },
    },
  };
}
