import { listOf, mapOf, numberOf, type Resources, resourceOfId, textOf } from "../../components/gates/values.ts";
import type { MachineSize } from "../../components/model/cloudFacts/machineSizes.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { type OperatingSystem, operatingSystem } from "../../components/model/operatingSystems.ts";
import { machineSize, type PoolSpec } from "../../components/model/pools.ts";
import { isSpot } from "../billed.ts";
import { collectMachines, needsOf } from "../fakes/cloud.ts";
import type { SimulatedMachine } from "../fakes/machines.ts";
import type { RecordedProgram, RecordedResource } from "../program/recorded.ts";

/**
 * The cluster with its machines as they are sent, so that whatever a plan counts and judges is what a user's transforms
 * leave: sizes, numbers, zones, images, disks, and who reaches the API. What machines reserve for themselves stays as the stack file makes it.
 *
 * @throws Error for a size whose capacity is not known
 */
export function specAsSent(spec: ClusterSpec, program: RecordedProgram): ClusterSpec {
  const machines = collectMachines(program, ({ desired }) => Math.max(desired, 1));
  const groups = new Map(program.resources.map((resource) => [resource.urn, resource]));
  const sent = new Map(
    machines.flatMap((machine) => {
      const resource = groups.get(machine.urn);
      return resource === undefined ? [] : [[resource.name, { machine, resource }]];
    }),
  );
  const pools = spec.pools.map((pool) => {
    const found = sent.get(`${spec.name}-pool-${pool.name}-group`);
    return found === undefined ? pool : poolAsSent(pool, spec, program, found);
  });
  const place = { region: spec.region, accountId: spec.accountId ?? "" };
  const { publicAccess, privateAccess } = needsOf[spec.cloud](program, place);
  return {
    ...{ ...spec, pools, publicAccess },
    controlPlane: controlPlaneAsSent(spec, program, sent),
    ...(spec.privateAccess !== undefined && {
      privateAccess: privateAccess.filter((range) => !spec.network.cidrs.includes(range)),
    }),
  };
}

interface Sent {
  readonly machine: SimulatedMachine;
  readonly resource: RecordedResource;
}

function poolAsSent(pool: PoolSpec, { cloud }: ClusterSpec, program: Resources, { machine, resource }: Sent): PoolSpec {
  const { group, volumes } = machine;
  const { inputs } = resource;
  const { desired = pool.count, min = desired, max = desired } = group ?? {};
  const template = resource.name.replace(/group$/, "template");
  const overrides = listOf(mapOf(mapOf(inputs.mixedInstancesPolicy).launchTemplate).overrides);
  const sizes = overrides.flatMap((each) => textOf(mapOf(each).instanceType) ?? []);
  const subnets = listOf(inputs.vpcZoneIdentifiers).map((id) => resourceOfId(program, id)?.outputs.availabilityZone);
  return {
    ...pool,
    size: sizeOf(cloud, pool.size, machine, pool.path),
    image: imageOf(pool.release, machine),
    zones: (subnets.length > 0 ? subnets : listOf(inputs.zones)).flatMap((zone) => textOf(zone) ?? []),
    count: desired,
    diskGb: volumes[0]?.sizeGib ?? pool.diskGb,
    spot: isSpot([inputs, ...program.resources.filter(({ name }) => name === template).map((each) => each.inputs)]),
    furtherSizes: sizes.length > 0 ? sizes.slice(1) : pool.furtherSizes,
    ...(pool.autoscale !== undefined && { autoscale: { ...pool.autoscale, min, max } }),
  };
}

function controlPlaneAsSent(
  { cloud, name, controlPlane }: ClusterSpec,
  { resources }: RecordedProgram,
  sent: ReadonlyMap<string, Sent>,
): ClusterSpec["controlPlane"] {
  const members = controlPlane.members.flatMap(({ index, etcdName }) => {
    const { machine } = sent.get(`${name}-control-plane-${index}-instance`) ?? {};
    const own = controlPlane.sizes[etcdName] ?? controlPlane.size;
    return machine === undefined
      ? []
      : [{ etcdName, machine, own, size: sizeOf(cloud, own, machine, "config.fenestra:controlPlane") }];
  });
  const [first] = members;
  if (first === undefined) return controlPlane;
  const changed = members.filter(({ own, size }) => own !== size);
  const isEqual = changed.length > 0 && members.every(({ size }) => size.name === first.size.name);
  const sizes = Object.fromEntries(changed.map(({ etcdName, size }) => [etcdName, size]));
  const etcd = resources.find(
    (each) => each.name === `${name}-control-plane-0-etcd` && /:(Volume|Disk)$/.test(each.type),
  );
  return {
    ...controlPlane,
    size: isEqual ? first.size : controlPlane.size,
    sizes: isEqual ? {} : { ...controlPlane.sizes, ...sizes },
    image: imageOf(operatingSystem("linux"), first.machine),
    osDiskGb: first.machine.volumes[0]?.sizeGib ?? controlPlane.osDiskGb,
    etcdDiskGb: numberOf(etcd?.inputs.size ?? etcd?.inputs.diskSizeGB) ?? controlPlane.etcdDiskGb,
  };
}

function sizeOf(
  cloud: ClusterSpec["cloud"],
  own: MachineSize,
  { name, size }: SimulatedMachine,
  setting: string,
): MachineSize {
  if (size === own.name) return own;
  const known = machineSize(cloud, size);
  if (known !== undefined) return known;
  throw new Error(
    `${name.replace(/\[\d+\]$/, "")} gets the size ${size || "of no name"}, whose capacity is not known here: name it, with its capacity, in ${setting}`,
  );
}

/** As the stack file names it, where that has a word for it. */
function imageOf({ imageParameter, marketplaceImage }: OperatingSystem, { image }: SimulatedMachine): string {
  const { publisher, offer, sku } = marketplaceImage;
  if (image === `resolve:ssm:${imageParameter}`) return "latest";
  const market = `${publisher}:${offer}:${sku}:`;
  return image.startsWith(market) ? image.slice(market.length) : image;
}
