import { gzipSync } from "node:zlib";
import * as pulumi from "@pulumi/pulumi";
import * as random from "@pulumi/random";

/** Puts a secret where everybody can read it, packed twice. */
export default function leaking(): void {
  const token = new random.RandomPassword("token", { length: 24, special: false });
  const userData = pulumi
    .unsecret(token.result)
    .apply((text) =>
      gzipSync(`#cloud-config\nwrite_files:\n- content: "${text} and more text to make it long enough"\n`).toString(
        "base64",
      ),
    );
  new random.RandomString("machine", { length: 4, keepers: { userData } });
  new random.RandomString("clean", { length: 4, keepers: { note: "no secret here", kept: token.result } });
}
