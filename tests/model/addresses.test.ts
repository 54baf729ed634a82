import assert from "node:assert/strict";
import fc from "fast-check";
import { addressPlan, controlPlaneMembers, largestNetwork } from "../../components/model/addressPlan.ts";
import {
  addressCount,
  type Cidr,
  cidr,
  contains,
  formatCidr,
  outermost,
  overlaps,
  parseCidr,
} from "../../components/model/cidr.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";

const zoneNames = ["eu-central-1a", "eu-central-1b", "eu-central-1c"];

const networks = fc
  .tuple(fc.nat(2 ** 32 - 1), fc.integer({ min: largestNetwork, max: cloudFacts.azure.network.smallest }))
  .map(([address, prefix]) => formatCidr({ first: address - (address % addressCount(prefix)), prefix }));

const zoneCount = fc.integer({ min: 1, max: 3 });

const number = (address: string) => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

describe("address plan", () => {
  it("divides the smallest network, a /22", () => {
    assert.deepEqual(addressPlan("10.0.4.0/22", ["a"]).zones, [
      { zone: "a", private: "10.0.4.0/24", public: "10.0.7.0/28", controlPlane: "10.0.7.128/28" },
    ]);
  });

  it("gives ranges without a common address, inside the network, a /28 at least", () => {
    fc.assert(
      fc.property(networks, zoneCount, (network, zones) => {
        const plan = addressPlan(network, zoneNames.slice(0, zones));
        const ranges = plan.zones.flatMap((zone) => [zone.private, zone.public, zone.controlPlane]).map(cidr);
        assert.equal(ranges.length, zones * 3);
        for (const [i, range] of ranges.entries()) {
          assert.ok(contains(cidr(network), range));
          assert.ok(range.prefix <= 28);
          for (const other of ranges.slice(i + 1)) assert.ok(!overlaps(range, other));
        }
      }),
    );
  });

  it("moves no range when a zone is appended", () => {
    fc.assert(
      fc.property(networks, fc.constantFrom(1, 2), (network, zones) => {
        const before = addressPlan(network, zoneNames.slice(0, zones));
        assert.deepEqual(addressPlan(network, zoneNames.slice(0, zones + 1)).zones.slice(0, zones), before.zones);
      }),
    );
  });

  it("gives control-plane machines addresses of their own that no cloud keeps for itself", () => {
    fc.assert(
      fc.property(networks, zoneCount, fc.constantFrom(1, 3), (network, zones, replicas) => {
        const plan = addressPlan(network, zoneNames.slice(0, zones));
        const members = controlPlaneMembers(plan, replicas);
        assert.equal(new Set(members.map(({ address }) => address)).size, replicas);
        assert.deepEqual(
          members.map(({ etcdName }) => etcdName),
          ["cp-0", "cp-1", "cp-2"].slice(0, replicas),
        );
        for (const member of members) {
          const zone = plan.zones[member.zoneIndex];
          assert.equal(zone?.zone, member.zone);
          const range = cidr(zone.controlPlane);
          const offset = number(member.address) - range.first;
          assert.ok(
            offset >= 4 && offset < addressCount(range.prefix) - 1,
            `${member.address} in ${zone.controlPlane}`,
          );
        }
        assert.equal(
          Map.groupBy(members, ({ zone }) => zone).size,
          Math.min(zones, replicas),
          "spread over as many zones as there are",
        );
      }),
    );
  });

  it("keeps the address of the first machine when one becomes three", () => {
    fc.assert(
      fc.property(networks, zoneCount, (network, zones) => {
        const plan = addressPlan(network, zoneNames.slice(0, zones));
        assert.deepEqual(controlPlaneMembers(plan, 3).slice(0, 1), controlPlaneMembers(plan, 1));
      }),
    );
  });
});

const anyCidr: fc.Arbitrary<Cidr> = fc
  .tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer({ min: 0, max: 32 }))
  .map(([address, prefix]) => ({ first: address - (address % addressCount(prefix)), prefix }));

/** A small network's addresses: the model for the arithmetic. */
const members = (network: Cidr) =>
  new Set(Array.from({ length: addressCount(network.prefix) }, (_, i) => network.first + i));

/** Two small neighbours, which often touch. */
const neighbours = fc
  .tuple(
    fc.integer({ min: 0, max: 255 }),
    fc.integer({ min: 24, max: 32 }),
    fc.nat(255),
    fc.integer({ min: 24, max: 32 }),
  )
  .map(([a, p, b, q]): [Cidr, Cidr] => [
    { first: 167772160 + a - (a % addressCount(p)), prefix: p },
    { first: 167772160 + b - (b % addressCount(q)), prefix: q },
  ]);

describe("IPv4 networks", () => {
  it("read and write the same text", () => {
    fc.assert(fc.property(anyCidr, (network) => assert.deepEqual(parseCidr(formatCidr(network)), network)));
  });

  for (const text of [
    "",
    "10.0.0.0",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "010.0.0.0/8",
    "10.0.0.1/24",
    "256.0.0.0/8",
    "10.0.0/16",
    "10.0.0.0/16\n",
    "0x0a.0.0.0/8",
    "fd00::/8",
  ])
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.equal(parseCidr(text), undefined);
      assert.throws(() => cidr(text), RangeError);
    });

  it("overlaps as the sets of their addresses do", () => {
    fc.assert(
      fc.property(neighbours, ([a, b]) => {
        const right = members(b);
        const shared = [...members(a)].filter((address) => right.has(address)).length;
        assert.equal(overlaps(a, b), shared > 0);
        assert.equal(overlaps(b, a), shared > 0);
        assert.equal(contains(a, b), shared === right.size);
      }),
    );
  });

  it("leaves of a list what is inside no other, with the same addresses", () => {
    fc.assert(
      fc.property(fc.array(neighbours), (pairs) => {
        const all = pairs.flat();
        const left = outermost(all.map(formatCidr)).map((text) => cidr(text));
        assert.ok(left.every((one, index) => left.every((other, at) => at === index || !overlaps(one, other))));
        assert.ok(all.every((one) => left.some((outer) => contains(outer, one))));
      }),
    );
  });
});
