import * as pulumi from "@pulumi/pulumi";
import * as random from "@pulumi/random";

/** A program that goes wrong inside apply, or calls the cloud. */
export default function failing() {
  const first = new random.RandomString("first", { length: 4 });
  return {
    text:
      new pulumi.Config("fenestra").get("how") === "invoke"
        ? pulumi.runtime.invokeOutput("aws:index/getCallerIdentity:getCallerIdentity", {})
        : first.result.apply((): string => {
            throw new Error("broken inside apply");
          }),
  };
}
