import assert from "node:assert/strict";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { joinSecretName, simulateCloud } from "../../rehearsal/testkit/clouds.ts";
import { type Recorded, runStack, shortUrn, specOf } from "../support/mocks.ts";
import { stackConfig } from "../support/stacks.ts";

/** Join secrets of other pools that machines read; `undefined` where one cannot read its own. */
async function foreignReads(stack: string, program: RecordedProgram): Promise<readonly string[] | undefined> {
  const cloud = simulateCloud(program, specOf(stack));
  const workers = cloud.machines.filter(({ group }) => group !== undefined);
  const places = new Set(workers.map((worker) => joinSecretName(cloud, worker)));
  assert.ok(places.size > 1);
  const found: string[] = [];
  for (const worker of workers)
    for (const place of places) {
      const own = place === joinSecretName(cloud, worker);
      const reads = await cloud.readSecret(worker, place).then(
        () => true,
        () => false,
      );
      if (own && !reads) return undefined;
      if (reads && !own) found.push(`${worker.name}: ${place}`);
    }
  return found;
}

type Change = readonly [name: RegExp, change: (inputs: string) => string];

/** The program with inputs changed as text. */
function changed({ program }: Recorded, [name, change]: Change): RecordedProgram {
  const resources = program.resources.map((each) =>
    name.test(each.name) ? { ...each, inputs: JSON.parse(change(JSON.stringify(each.inputs))) } : each,
  );
  return { ...program, resources };
}

const wider: Readonly<Record<"aws-dev" | "azure-dev", Change>> = {
  "aws-dev": [/-pool-linux-identity-worker$/, (text) => text.replaceAll(/\/join\/linux/g, "/join/*")],
  "azure-dev": [/-pool-linux-identity-read-join$/, (text) => text.replace(/\/secrets\/join-[^"]*/, "")],
};

describe("join secrets", () => {
  for (const stack of ["aws-dev", "azure-dev"] as const) {
    it(`of ${stack} are read by machines of their pool alone, which a wider right would show`, async () => {
      const recorded = await runStack(stack);
      assert.deepEqual(await foreignReads(stack, recorded.program), []);
      assert.ok(((await foreignReads(stack, changed(recorded, wider[stack]))) ?? []).length > 0);
    });

    it(`of ${stack} come and go with their pools, and the control plane and its rights stay as they are`, async () => {
      const pools: readonly { readonly name: string }[] = JSON.parse(stackConfig(stack)["fenestra:pools"] ?? "[]");
      const [first] = pools;
      const more = await runStack(stack, { pools: [...pools, { ...first, name: "added" }] });
      const ofControlPlane = ({ program }: Recorded): ReadonlyMap<string, string> =>
        new Map(
          program.resources
            .filter(({ urn }) => /control-plane|-secrets/.test(shortUrn(urn)))
            .map(({ urn, inputs }) => [urn, JSON.stringify(inputs)]),
        );
      const [before, after] = [ofControlPlane(await runStack(stack)), ofControlPlane(more)];
      assert.ok(before.size > 10);
      assert.deepEqual(after, before);
      const joins = (recorded: Recorded): number =>
        recorded.program.resources.filter(({ urn }) => /:(Parameter|Secret) .*-pool-.+-join$/.test(shortUrn(urn)))
          .length;
      assert.equal(joins(more), joins(await runStack(stack)) + 1);
    });
  }
});
