import * as pulumi from "@pulumi/pulumi";

/**
 * The value of an input inside a hook, where everything is known: hooks that do not run in a preview are called when the resource's
 * dependencies exist.
 */
export function known<T>(input: pulumi.Input<T>): Promise<pulumi.Unwrap<T>> {
  return new Promise((resolve) => {
    pulumi.output(input).apply(resolve);
  });
}
