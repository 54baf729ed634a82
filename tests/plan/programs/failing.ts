import * as pulumi from "@pulumi/pulumi";
import * as random from "@pulumi/random";

export default function failing() {
  const how = new pulumi.Config("fenestra").get("how");
  const customTimeouts = { create: how === "duration" ? "PT40M" : "40m" };
  const first = new random.RandomString("first", { length: 4 }, { customTimeouts });
  return {
    text:
      how === "invoke"
        ? pulumi.runtime.invokeOutput("aws:index/getCallerIdentity:getCallerIdentity", {})
        : first.result.apply((): string => {
            throw new Error("broken inside apply");
          }),
  };
}
