import * as pulumi from "@pulumi/pulumi";

/** The value of an input inside a hook: hooks run only in updates, when the dependencies of the resource exist, so every value is known. */
export function resolvedValue<T>(input: pulumi.Input<T>): Promise<pulumi.Unwrap<T>> {
  return new Promise((resolve) => {
    pulumi.output(input).apply(resolve);
  });
}
