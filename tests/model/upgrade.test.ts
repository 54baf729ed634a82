import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { addressPlan, controlPlaneMembers } from "../../components/model/addressPlan.ts";
import { ConfigError } from "../../components/model/problem.ts";
import {
  type ClusterState,
  changeProblems,
  reachedProblems,
  readState,
  stateOf,
} from "../../components/model/upgrade.ts";
import { specOf } from "../support/mocks.ts";
import { exampleSpec } from "../support/stacks.ts";

const running = stateOf(exampleSpec("aws-prod"));

describe("the rule for machines that an autoscaler may run", () => {
  const before = { ...running, mostMachines: { linux: 10, win: 4 }, autoscaled: ["linux"] };
  const told = (change: Partial<ClusterState>) =>
    changeProblems(before, { ...before, ...change }).map(({ path, value }) => [path, value]);

  it("keeps a bound from getting lower in production, and a count from taking its place, unless it is accepted", () => {
    const lower = { mostMachines: { linux: 3, win: 4 } };
    assert.deepEqual(told(lower), [["config.fenestra:pools", "linux: 3"]]);
    assert.deepEqual(told({ ...lower, autoscaled: [] }), [["config.fenestra:pools", "linux: 3"]]);
    assert.deepEqual(told({ ...lower, mayEnd: true }), []);
    assert.deepEqual(told({ mostMachines: { linux: 11, win: 1 } }), []);
    assert.deepEqual(told({ mostMachines: { win: 4 }, autoscaled: [] }), []);
    const pool = { name: "linux", os: "linux", autoscale: { min: 1, max: 10 } };
    const { mostMachines, autoscaled } = stateOf(specOf("aws-prod", { pools: [pool] }));
    assert.deepEqual([mostMachines, autoscaled], [{ linux: 10 }, ["linux"]]);
  });
});

const minor = fc.integer({ min: 20, max: 60 });
const patch = fc.integer({ min: 0, max: 30 });
const changed = (change: Partial<ClusterState>) =>
  changeProblems(running, { ...running, ...change }).map(({ path }) => path);

describe("the rule for a change of the release", () => {
  for (const [from, to, problem] of [
    [
      "1.36.0",
      "1.35.9",
      /goes back from 1\.36\.0, .*Kubernetes supports no downgrade of a minor.*set 1\.36\.0 or a later release/,
    ],
    ["1.9.0", "1.10.0", undefined],
    ["1.36.0", "2.0.0", /skips a minor/],
  ] as const)
    it(`${from} to ${to}: ${problem === undefined ? "allowed" : "refused"}`, () => {
      const found = reachedProblems(from, to).map(({ message, remedy }) => `${message}; ${remedy}`);
      if (problem === undefined) assert.deepEqual(found, []);
      else assert.match(found.join(), problem);
    });

  it("allows from what was reached the same minor and the next one, and from what was asked for also the one before", () => {
    fc.assert(
      fc.property(minor, patch, minor, patch, (fromMinor, fromPatch, toMinor, toPatch) => {
        const [from, to] = [`1.${fromMinor}.${fromPatch}`, `1.${toMinor}.${toPatch}`];
        const step = toMinor - fromMinor;
        assert.equal(reachedProblems(from, to).length === 0, step === 0 || step === 1);
        assert.equal(
          changeProblems({ version: from, replicas: 1 }, { version: to, replicas: 1 }).length === 0,
          Math.abs(step) <= 1,
        );
      }),
    );
  });
});

describe("the rule for what a running cluster keeps", () => {
  it("lets everything stay, and what may grow grow", () => {
    assert.deepEqual(changed({}), []);
    assert.deepEqual(changeProblems({ version: "1.36.4", replicas: 1 }, { version: "1.36.4", replicas: 3 }), []);
    assert.deepEqual(changed({ etcdDiskGb: 100 }), []);
  });

  it("appends a zone exactly where every machine of the control plane keeps its zone and its address", () => {
    const places = (zones: readonly string[], replicas: number) =>
      controlPlaneMembers(addressPlan("10.0.0.0/16", zones), replicas);
    const counts = [1, 3, 5];
    let allowed = 0;
    for (const replicas of counts)
      for (const more of counts.filter((count) => count >= replicas))
        for (const zones of [["a"], ["a", "b"], ["a", "b", "c"]])
          for (const to of [["a"], ["a", "b"], ["a", "b", "c"]].filter((list) => list.length >= zones.length)) {
            const problems = changeProblems({ ...running, replicas, zones }, { ...running, replicas: more, zones: to });
            const stay = isDeepStrictEqual(places(to, more).slice(0, replicas), places(zones, replicas));
            assert.equal(problems.length === 0, stay, `${replicas} in ${zones.join()} to ${more} in ${to.join()}`);
            allowed += stay ? 1 : 0;
          }
    assert.equal(allowed, 27);
    const [problem] = changeProblems({ ...running, zones: ["a", "b"] }, { ...running, zones: ["a", "b", "c"] });
    assert.match(problem?.message ?? "", /^would move cp-2 to another zone, /);
    assert.deepEqual([problem?.value, problem?.allowed], [["a", "b", "c"], "a, b"]);
    assert.match(problem?.remedy ?? "", /^set it back; .* build a second cluster with 3 zones/);
  });

  for (const [change, path] of [
    [{ cidr: "10.21.0.0/16" }, "network.cidr"],
    [{ zones: ["eu-central-1b", "eu-central-1a", "eu-central-1c"] }, "network.zones"],
    [{ zones: ["eu-central-1a", "eu-central-1b"] }, "network.zones"],
    [{ podCidr: "10.245.0.0/16" }, "kubernetes.podCidr"],
    [{ serviceCidr: "10.97.0.0/16" }, "kubernetes.serviceCidr"],
    [{ region: "eu-west-1" }, "region"],
    [{ name: "other" }, "name"],
    [{ cloud: "azure" }, "cloud"],
    [{ etcdDiskGb: 39 }, "controlPlane.etcdDiskGb"],
    [{ replicas: 1 }, "controlPlane.replicas"],
  ] as const)
    it(`refuses ${JSON.stringify(change)}`, () => assert.deepEqual(changed(change), [`config.fenestra:${path}`]));

  for (const [title, name, first, other, verb] of [
    ["the key of service accounts", "serviceAccountKeys", "ecdsa", "rsa-1", "signs"],
    ["the key of Secrets", "encryptionKeys", "key1", "key2", "encrypts"],
  ] as const)
    it(`changes ${title} only by way of both`, () => {
      const problemsOf = (from: readonly string[] | undefined, to: readonly string[] | undefined) =>
        changeProblems({ ...running, [name]: from }, { ...running, [name]: to })
          .map(({ message }) => message)
          .join();
      const [both, turned] = [
        [first, other],
        [other, first],
      ];
      for (const [from, to] of [
        [undefined, both],
        [both, turned],
        [turned, [other]],
        [turned, both],
        [both, undefined],
      ])
        assert.equal(problemsOf(from, to), "");
      const unknown = new RegExp(`^${verb} with ${other}, which no API server`);
      assert.match(problemsOf(undefined, [other]), unknown);
      assert.match(problemsOf(undefined, turned), unknown);
      assert.match(problemsOf(both, [other]), new RegExp(`^drops ${first}, which ${verb} until now`));
    });

  it("leaves neither its network nor a subnet, and may take in another zone", () => {
    const own = stateOf(specOf("aws-existing"));
    const of = (from: ClusterState, to: ClusterState) =>
      changeProblems(from, to).map(({ path }) => path.replace("config.fenestra:network.", ""));
    const moved = { ...own.subnets, "eu-central-1a private": "subnet-1" };
    const more = { ...own.subnets, "eu-central-1c private": "subnet-2", "eu-central-1c controlPlane": "subnet-3" };
    assert.deepEqual(of(own, { ...own, subnets: moved }), ["existing.subnets.eu-central-1a.private.id"]);
    assert.deepEqual(of(own, { ...own, networkId: "vpc-2" }), ["existing.id"]);
    assert.deepEqual(of(own, { ...own, networkId: undefined, subnets: undefined }), ["existing.id"]);
    assert.deepEqual(of({ ...own, networkId: undefined, subnets: undefined }, own), ["existing.id"]);
    const azure = stateOf(specOf("azure-existing"));
    assert.deepEqual(of(azure, { ...azure, resourceGroup: "own" }), ["existing.resourceGroup"]);
    assert.deepEqual(of({ ...azure, resourceGroup: undefined }, azure), []);
    const one = { ...own, replicas: 1 };
    assert.deepEqual(of(one, { ...one, subnets: more, zones: [...own.zones, "eu-central-1c"] }), []);
  });

  it("keeps the public issuer once it is there", () => {
    const of = (from: string | undefined, to: string | undefined) =>
      changeProblems({ ...running, issuer: from }, { ...running, issuer: to }).length;
    assert.deepEqual([of(undefined, "own"), of("own", "own"), of("https://a", "https://a")], [0, 0, 0]);
    assert.deepEqual([of("own", undefined), of("own", "https://a"), of("https://a", "own")], [1, 1, 1]);
  });

  it("tells everything at once: where, the old value, the new one, and what to do", () => {
    const problems = changeProblems(running, { ...running, cidr: "10.21.0.0/16", etcdDiskGb: 20, version: "1.39.0" });
    assert.equal(
      new ConfigError(problems).message,
      [
        "The stack configuration has 3 problems:",
        "config.fenestra:controlPlane.etcdDiskGb: cannot get smaller: no cloud makes a disk smaller\n    found:   20\n    allowed: 40 or more\n    fix:     set 40; if the cluster was never up, run pulumi destroy with the old value, then pulumi up with the new one",
        `config.fenestra:kubernetes.version: skips a minor after 1.37.1, which was asked for before\n    found:   "1.39.0"\n    allowed: a 1.37 or 1.38 release\n    fix:     upgrade to a 1.38 release first`,
        `config.fenestra:network.cidr: cannot change: the members of etcd are known by their addresses\n    found:   "10.21.0.0/16"\n    allowed: 10.20.0.0/16\n    fix:     set it back; for another value build a second cluster and move the workloads; if the cluster was never up, run pulumi destroy with the old value, then pulumi up with the new one\n`,
      ].join("\n\n"),
    );
  });

  it("asks nothing of states that lack the value, and reads others with distrust", () => {
    const old = { version: "1.36.4", replicas: 3 };
    assert.deepEqual(changeProblems(old, { ...running, cidr: "10.99.0.0/16" }), []);
    assert.deepEqual(readState(old), old);
    for (const odd of [
      undefined,
      null,
      "1.36.4",
      { version: 1, replicas: 3 },
      { version: "1.36.4" },
      { ...old, zones: "a" },
    ])
      assert.equal(readState(odd), undefined);
  });
});
