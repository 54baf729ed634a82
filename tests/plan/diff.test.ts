import assert from "node:assert/strict";
import {
  ComponentResource,
  type ComponentResourceOptions,
  CustomResource,
  type CustomResourceOptions,
} from "@pulumi/pulumi";
import { type BasePlan, readBasePlan } from "../../plan/diff/base.ts";
import { diffPlans, type NodeChange } from "../../plan/diff/compare.ts";
import { type Compared, findOperations } from "../../plan/diff/operations.ts";
import { diffText, verdict } from "../../plan/diff/text.ts";
import type { Plan, PlanMachine, PlanResource } from "../../plan/plan.ts";
import { replacementRow } from "../../plan/replacement/table.ts";
import { withMocks } from "../support/mocks.ts";
import { bareMachine, barePlan, barePool, bareResource, planOf } from "../support/planOf.ts";
import { stackConfig } from "../support/stacks.ts";

const machine = (name: string, content: string): PlanMachine =>
  bareMachine(name, {
    userData: { bytes: content.length, limit: 100, sha256: `digest of ${content}` },
    files: [{ path: "/run.sh", mode: "0755", bytes: content.length, sha256: "", content }],
  });

const resource = (name: string, inputs: unknown, options: PlanResource["options"] = {}, type = "t") =>
  bareResource(name, inputs, { options, type });
const plan = (resources: readonly PlanResource[], machines: readonly PlanMachine[]) =>
  barePlan({ resources, machines });

function base(of: Plan): BasePlan {
  const read = readBasePlan(JSON.stringify(of));
  assert.ok(typeof read !== "string", "the plan cannot be read");
  return read;
}

describe("a comparison of plans", () => {
  it("sees another secret", async () => {
    const now = await planOf("aws-dev", stackConfig("aws-dev"));
    assert.ok(
      diffPlans(
        base(
          JSON.parse(JSON.stringify(now).replaceAll(/\[secret, sha256 [0-9a-f]{8}\]/g, "[secret, sha256 00000000]")),
        ),
        now,
      ).resources.length > 10,
    );
  });

  it("calls nothing safe where an autoscaler decided how many machines run", () => {
    const of = (pool: Partial<Plan["pools"][number]>, count: number, size: number): Plan =>
      barePlan({
        pools: [barePool("x", pool)],
        resources: [resource("s-pool-x-group", { maxSize: size }, {}, "aws:autoscaling/group:Group")],
        machines: [bareMachine("s-pool-x-group", { role: "linux", count })],
      });
    const old = of({ count: 1, autoscale: { min: 1, max: 10 } }, 1, 10);
    const said = (now: Plan) =>
      diffText(diffPlans(base(old), now))
        .split("\n")
        .slice(0, 4);
    const words = (count: number) => `may end up to ${count} machines at once`;
    for (const [now, count] of [
      [of({ count: 1, autoscale: { min: 1, max: 3 } }, 1, 3), 7],
      [of({ count: 2 }, 2, 2), 8],
    ] as const)
      assert.deepEqual(said(now), [`${words(count)}, about 5 min`, "", "Nodes", `- x: ${words(count)}`]);
    assert.deepEqual(said(barePlan()), [`${words(10)}, about 5 min`, "", "Nodes", `- x: is removed, ${words(10)}`]);
    assert.equal(said(of({ count: 1, autoscale: { min: 1, max: 12 } }, 1, 12))[0], "safe: no machine is replaced");
  });

  it("says what happens, worst first, with the values", () => {
    const group = "aws:autoscaling/group:Group";
    const old = plan(
      [
        resource("gone", {}),
        resource("kept", { x: 1, list: [{ name: "a", y: 1 }] }, {}, group),
        resource("trigger", {}, { replacementTrigger: "v1" }),
        resource("declared", { image: { id: 1 } }, { replaceOnChanges: ["image"] }),
        resource("ignored", { items: [{ a: 1 }] }, { ignoreChanges: ["items[*].a"] }),
        resource("all", { z: 1 }, { ignoreChanges: ["*"] }),
        resource("disk", { availabilityZone: "a" }, { protect: true }, "aws:ebs/volume:Volume"),
        resource("other", { z: 1 }),
      ],
      [machine("kept", "one\ntwo\n"), machine("n", "x")],
    );
    const now = plan(
      [
        resource("kept", { x: 1, list: ["b", "a"].map((name) => ({ name, y: name === "b" ? 2 : 1 })) }, {}, group),
        resource("trigger", {}, { replacementTrigger: "v2" }),
        resource("declared", { image: { id: 2 } }, { replaceOnChanges: ["image"] }),
        resource("ignored", { items: [{ a: 2 }] }, { ignoreChanges: ["items[*].a"] }),
        resource("all", { z: 2 }, { ignoreChanges: ["*"] }),
        resource("disk", { availabilityZone: "b" }, { protect: true }, "aws:ebs/volume:Volume"),
        resource("other", { z: 2 }),
        resource("new", {}),
      ],
      [machine("kept", "one\n2\n"), machine("n", "x"), machine("o", "y")],
    );
    assert.equal(
      diffText(diffPlans(base(old), now)),
      `REFUSED: this update will not run
- disk: is protected, and would be replaced
    found:   "aws:ebs/volume:Volume"
    allowed: a change that keeps it
    fix:     undo what replaces it; to give it up with its data, run pulumi state unprotect first

DATA IS LOST
- disk: what lies on the volume

Nodes
~ kept: changes in place
  n: stays
+ o: is new

Resources: 3 replaced, 1 perhaps replaced, 1 removed, 1 changed, 1 new
! t declared: is replaced (image)
    image.id: 1 -> 2
! aws:ebs/volume:Volume disk: is replaced (availabilityZone)
    availabilityZone: "a" -> "b"
- t gone: is removed
~ aws:autoscaling/group:Group kept: changes in place
    list[b]: nothing -> {"name":"b","y":2}
+ t new: is new
? t other: may be replaced (Fenestra does not know what replaces this type)
    z: 1 -> 2
! t trigger: is replaced (user data or machine settings change)

kept /run.sh
-    2  two
+    2  2
`,
    );
  });

  it("says what others may have added and an update takes off, on Azure of a whole resource", () => {
    const set = "azure-native:compute:VirtualMachineScaleSet";
    const inputs = (x: number, tag: string) => ({ x, tags: { tag }, identity: { userAssignedIdentities: ["a"] } });
    const of = (type: string, x: number, tag: string, options = {}) =>
      plan([resource("r", inputs(x, tag), options, type)], []);
    const taken = (type: string, x: number, tag: string, options = {}) =>
      diffPlans(base(of(type, 1, "a")), of(type, x, tag, options)).resources.flatMap(({ takesOff = [] }) => takesOff);
    assert.deepEqual(taken(set, 2, "a"), ["tags", "identity.userAssignedIdentities"]);
    assert.deepEqual(taken("aws:ec2/vpc:Vpc", 2, "a"), []);
    assert.deepEqual(taken("aws:ec2/vpc:Vpc", 1, "b"), ["tags"]);
    assert.deepEqual(taken("azure-native:network:NatGateway", 2, "b", { ignoreChanges: ["tags"] }), []);
    assert.match(
      diffText(diffPlans(base(of(set, 1, "a")), of(set, 2, "a"))),
      /What others added to tags, identity.userAssignedIdentities is taken off/,
    );
  });

  it("ends in a verdict: machines, about how long, and whether the API stays up", () => {
    const node = (
      name: string,
      role: NodeChange["role"],
      change: NodeChange["change"],
      count: NodeChange["count"],
    ): NodeChange => ({ name, role, change, count, atATime: 1, because: [] });
    const members = [0, 1, 2].map((index) => node(`cp-${index}`, "control-plane", "replaced", [1, 1]));
    const of = (...nodes: readonly NodeChange[]) => verdict({ refused: [], lost: [], nodes });
    const stays = node("linux", "linux", "stays", [3, 3]);
    assert.equal(of(stays), "safe: no machine is replaced");
    assert.equal(
      of(...members, stays),
      "3 machines of the control plane replaced one by one, about 25 min, the API stays up",
    );
    assert.equal(
      of(...members.slice(0, 1)),
      "1 machine of the control plane replaced, about 10 min, the API is down meanwhile",
    );
    assert.equal(verdict({ refused: [], lost: [{ name: "a", what: "b" }], nodes: [] }), "DATA IS LOST");
  });

  it("says what somebody changed, whose protection goes, and knows findings by pools' names", () => {
    const finding = (index: number) =>
      ({ id: "f", level: "note", path: `pools[${index}]`, message: "", remedy: "", acknowledged: null }) as const;
    const before = {
      ...plan([resource("a", {}, { protect: true })], []),
      settings: { pools: [{ name: "x" }, { name: "y" }] },
    };
    const after = { ...plan([resource("a", {})], []), settings: { pools: [{ name: "y" }] } };
    const [old, now] = [base({ ...before, findings: [finding(1)] }), { ...after, findings: [finding(0)] }];
    const [x, y] = [barePool("x"), barePool("y")];
    const diff = diffPlans({ ...old, pools: [x, y] }, { ...now, pools: [y] });
    assert.deepEqual([diff.findings.new, diff.findings.gone], [[], []]);
    assert.equal(
      diffText({ ...diff, refused: [{ path: "p", value: 1, message: "m", allowed: "a" }] }).split("\n")[0],
      "REFUSED: this update will not run",
    );
    assert.match(
      diffText(diff),
      /^DATA IS LOST\n\nStack file\n[-~] pools\[x\]: .* -> nothing\n\nDATA IS LOST\n- protection: may be deleted from now on: a\n/,
    );
  });
});

const compared = (type: string, inputs: object, provider: string | null = null): Compared => ({
  ...{ urn: type, type, name: "now", custom: true, inputs, options: {} },
  ...{ propertyDependencies: {}, provider },
});

describe("what a change does", () => {
  it("forgets logs by their retention, which 0 ends, and snapshots by theirs, which 0 does not", () => {
    const forgets = (type: string, key: string, old: number, now: number) =>
      replacementRow(type)?.forgets?.({ a: { [key]: old } }, { a: { [key]: now } });
    const logs = ["aws:cloudwatch/logGroup:LogGroup", "retentionInDays"] as const;
    const snapshots = ["azure-native:storage:ManagementPolicy", "daysAfterModificationGreaterThan"] as const;
    assert.deepEqual(
      [forgets(...logs, 30, 0), forgets(...logs, 0, 30), forgets(...logs, 30, 7), forgets(...snapshots, 7, 0)],
      [undefined, "logs older than 30 days", "logs older than 7 days", "snapshots of etcd older than 0 days"],
    );
  });

  const set = (name: string, mode = "Rolling") => ({ sku: { name }, upgradePolicy: { mode } });
  const tags = (count: number) => Array.from({ length: count }, (_, index) => ({ key: `k${index}`, value: "" }));
  const balancer = (subnets: string, more: string, expected: string) =>
    ["aws:lb/loadBalancer:LoadBalancer", { subnets: [...subnets] }, { subnets: [...more] }, expected] as const;
  const frontend = (name: string, ...zones: string[]) => ({ frontendIPConfigurations: [{ name, zones }] });

  for (const [type, old, now, expected] of [
    [
      "compute:VirtualMachineScaleSet",
      set("Standard_D2s_v5"),
      set("Standard_D2ds_v5"),
      "rolled sku.name may be refused:",
    ],
    ["compute:VirtualMachineScaleSet", set("a"), set("a", "Manual"), "changed"],
    ["aws:autoscaling/group:Group", { tags: [] }, { tags: tags(26) }, "changed tags is refused: 26 tags"],
    balancer("ab", "acd", "changed"),
    balancer("ab", "ac", "replaced subnets"),
    ["aws:lb/loadBalancer:LoadBalancer", { subnets: ["a"] }, { subnetMappings: ["a"] }, "replaced subnetMappings"],
    ["aws:ec2/instance:Instance", {}, { tenancy: "host" }, "replaced tenancy"],
    ["aws:ec2/instance:Instance", { tenancy: "host" }, {}, "changed"],
    ["aws:ec2/instance:Instance", {}, { rootBlockDevice: {} }, "changed"],
    ["storage:StorageAccount", { sku: { name: "Standard_ZRS" } }, { sku: { name: "Standard_GZRS" } }, "changed"],
    ["compute:VirtualMachineScaleSet", {}, { hostGroup: {} }, "changed hostGroup may be refused"],
    ["network:LoadBalancer", frontend("a"), frontend("a", "1"), "refused frontendIPConfigurations"],
    ["network:LoadBalancer", frontend("a"), frontend("b", "1"), "changed"],
    ["aws:iam/role:Role", { namePrefix: "a" }, {}, "replaced namePrefix"],
    [
      "aws:lb/loadBalancer:LoadBalancer",
      { secondaryIpsAutoAssignedPerSubnet: 2 },
      {},
      "replaced secondaryIpsAutoAssigned",
    ],
    ["aws:lb/loadBalancer:LoadBalancer", {}, { secondaryIpsAutoAssignedPerSubnet: 2 }, "changed"],
  ] as const)
    it(`${JSON.stringify(now)}: ${expected}`, () => {
      const name = type.startsWith("aws:") ? type : `azure-native:${type}`;
      const [found] = findOperations({ resources: [compared(name, old)] }, [compared(name, now)]);
      assert.equal(`${found?.change} ${found?.because.join().slice(0, 24)}`.trim(), expected);
    });

  const provider = "pulumi:providers:aws";
  const placed = (type: string, [all, region]: string) => [
    compared(provider, { region: all }),
    compared(type, { region }, provider),
  ];
  for (const [type, old, now, expected] of [
    ["aws:ec2/tag:Tag", "a", "ab", "replaced"],
    ["aws:ec2/tag:Tag", "ab", "a", "replaced"],
    ["aws:ec2/tag:Tag", "a", "aa", "changed"],
    ["aws:ec2/tag:Tag", "aa", "ba", undefined],
    ["aws:route53/record:Record", "a", "b", undefined],
  ] as const)
    it(`${type}, its provider's region and its own from ${old} to ${now}: ${expected}`, () => {
      assert.equal(
        findOperations({ resources: placed(type, old) }, placed(type, now)).find(({ urn }) => urn === type)?.change,
        expected,
      );
    });
});

describe("a group of AWS", () => {
  const [groupType, templateType] = ["aws:autoscaling/group:Group", "aws:ec2/launchTemplate:LaunchTemplate"];
  const both = (imageId: string, launches: object): readonly Compared[] => {
    const group = compared(groupType, { ...launches, instanceRefresh: { strategy: "Rolling" } });
    return [
      compared(templateType, { imageId }),
      { ...group, propertyDependencies: { launchTemplate: [templateType] } },
    ];
  };
  const by = (version: string) => ({ launchTemplate: { version } });
  const mixed = { mixedInstancesPolicy: { launchTemplate: { launchTemplateSpecification: { version: "$Default" } } } };
  const later = "changed only machines that are started from now on have it";
  for (const [what, old, now, expected] of [
    ["a number", both("a", by("1")), both("b", by("1")), "rolled now changes"],
    ["a word", both("a", by("$Latest")), both("b", by("$Latest")), later],
    ["a word in a policy", both("a", mixed), both("b", mixed), later],
    ["a word in place of a number", both("a", by("1")), both("a", by("$Latest")), "rolled launchTemplate"],
    ["nothing", both("a", by("$Latest")), both("a", by("$Latest")), undefined],
  ] as const)
    it(`does this where its template's version is ${what}: ${expected}`, () => {
      const found = findOperations({ resources: old }, now).find(({ urn }) => urn === groupType);
      assert.equal(found && `${found.change} ${found.because.join()}`, expected);
    });
});

describe("a resource keeps what it was", () => {
  class Home extends ComponentResource {
    constructor(name: string, options: ComponentResourceOptions = {}, type = "t:index:Home") {
      super(type, name, {}, options);
    }
  }
  class Network extends CustomResource {}
  const network = (name: string, options: CustomResourceOptions = {}, type = "aws:ec2/vpc:Vpc") =>
    new Network(type, name, { cidrBlock: "10.0.0.0/16" }, options);
  const recorded = async (build: () => unknown) => {
    return (await withMocks(build, { simulate: () => ({ id: "a", outputs: {} }) })).program.resources.map((each) => ({
      ...each,
      parent: each.parent ?? null,
      provider: null,
      options: { ...each.options },
    }));
  };
  // As pulumi/pulumi v3.276 does: pkg/resource/deploy/step_generator.go, `generateAliases`.
  for (const [title, old, now, expected] of [
    ["a name", () => network("old"), () => network("now", { aliases: [{ name: "old" }] }), ""],
    [
      "the other name",
      () => network("old"),
      () => network("now", { aliases: [{ name: "else" }] }),
      "old removed now added",
    ],
    [
      "a parent's parent's name, and its own type",
      () => network("old-i-a", { parent: new Home("old-i", { parent: new Home("old") }) }, "aws:ec2/vpc:Old"),
      () =>
        network("now-i-a", {
          aliases: [{ type: "aws:ec2/vpc:Old" }],
          parent: new Home("now-i", { parent: new Home("now", { aliases: [{ name: "old" }] }) }),
        }),
      "",
    ],
    [
      "a name, which the state has beside its own",
      () => [network("a"), network("b")],
      () => network("a", { aliases: [{ name: "b" }] }),
      "b removed",
    ],
  ] as const)
    it(`by an alias that is ${title}: ${expected || "nothing"}`, async () => {
      const [before, after] = [await recorded(old), await recorded(now)];
      assert.equal(
        findOperations({ resources: before }, after)
          .map(({ name, change }) => `${name} ${change}`)
          .toSorted()
          .join(" "),
        expected
          .split(/(?<=d) /)
          .toSorted()
          .join(" "),
      );
      const [first, ...more] = findOperations(
        { resources: before },
        after.map((each) => ({ ...each, inputs: { cidrBlock: "a" } })),
      );
      if (expected === "") assert.deepEqual([first?.change, more], ["replaced", []]);
    });
});
