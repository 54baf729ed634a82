import * as random from "@pulumi/random";

/** A faulty program: it makes a resource inside apply, which a first preview does not reach. */
export default function shape() {
  const first = new random.RandomString("first", { length: 4 });
  return { made: first.result.apply((text) => new random.RandomString("second", { length: text.length }).result) };
}
