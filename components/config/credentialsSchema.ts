import { z } from "zod";
import { described, matching } from "./forms.ts";

/** What is no part of a name or password here: neither HTTP's basic authentication nor the files of the machines can hold it. */
const control = "\\u0000-\\u001f\\u007f";

const loginSchema = z.strictObject({
  username: described(
    matching(new RegExp(`^[^:${control}]+$`), "is empty or has a colon, which basic authentication does not allow"),
    "User name.",
    { patternErrorMessage: "a name without a colon", examples: ["svc-fenestra"] },
  ),
  password: matching(new RegExp(`^[^${control}]+$`), "is empty or has a control character").meta({
    // JSON Schema's annotation for passwords: the schema for editors has Pulumi's encrypted form in its place.
    writeOnly: true,
    patternErrorMessage: "encrypted",
    description: "Password, encrypted by pulumi config set --secret --path.",
  }),
});

export const credentialFields = {
  proxyCredentials: described(
    loginSchema.optional(),
    "Login of httpProxy, for basic authentication. It is kept in Parameter Store or Key Vault, where the machines read it.",
  ),
  registryCredentials: described(
    z.record(z.string().min(1), loginSchema).optional(),
    "Host of a registry or a mirror (mirror.corp.example:5000), with its port where it is not the scheme's own, to its login, kept like that of the proxy. It is for image pulls from there, and for the files of mirror.artifacts.",
  ),
};
