import * as pulumi from "@pulumi/pulumi";
import * as random from "@pulumi/random";

/** A hook, an output that another resource takes, and secrets. */
export default function small(): void {
  const token = new random.RandomPassword("token", { length: 16, special: false });
  const wait = new pulumi.ResourceHook("wait", async () => {
    throw new Error("not healthy");
  });
  const gate = new pulumi.Stash("gate", { input: token.id }, { hooks: { beforeUpdate: [wait] } });
  new random.RandomString("suffix", { length: 6, keepers: { gate: gate.id, literal: pulumi.secret("hidden") } });
}
