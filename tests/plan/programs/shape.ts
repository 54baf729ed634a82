import * as random from "@pulumi/random";

export default function shape() {
  const first = new random.RandomString("first", { length: 4 });
  return { made: first.result.apply((text) => new random.RandomString("second", { length: text.length }).result) };
}
