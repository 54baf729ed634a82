import * as pulumi from "@pulumi/pulumi";
import * as random from "@pulumi/random";

/** A small program with every kind of thing that a recorded run writes down. */
class Group extends pulumi.ComponentResource {
  readonly token: pulumi.Output<string>;

  constructor(name: string, opts: pulumi.ComponentResourceOptions = {}) {
    super("fenestra:test:Group", name, {}, opts);
    const token = new random.RandomPassword(`${name}-token`, { length: 16, special: false }, { parent: this });
    const gate = new pulumi.Stash(
      `${name}-gate`,
      { input: token.id },
      {
        parent: this,
        hooks: {
          beforeUpdate: [
            new pulumi.ResourceHook(`${name}-wait`, async () => {
              throw new Error("not healthy");
            }),
          ],
        },
      },
    );
    new random.RandomString(
      `${name}-suffix`,
      { length: 6, upper: false, keepers: { gate: gate.id, literal: pulumi.secret("hidden") } },
      {
        parent: this,
        protect: true,
        deleteBeforeReplace: true,
        dependsOn: [gate],
        deletedWith: token,
        ignoreChanges: ["length"],
        hideDiffs: ["keepers"],
        replaceOnChanges: ["upper"],
        replacementTrigger: "v1",
        customTimeouts: { create: "40m" },
      },
    );
    this.token = token.result;
    this.registerOutputs({ token: this.token });
  }
}

export default function small() {
  const group = new Group("group");
  pulumi.log.warn("look out");
  return { token: group.token, stack: pulumi.getStack() };
}
