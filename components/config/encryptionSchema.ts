import { z } from "zod";
import { firstEncryptionKey } from "../model/secretsEncryption.ts";
import { lowerCaseName, nameForm, pinnedFile } from "./forms.ts";

/** A key of the cloud's key service. */
const kmsKeySchema = z.strictObject({
  name: lowerCaseName()
    .max(20)
    .meta({ ...nameForm, examples: ["kms-1"], description: "Name of the key, as keys lists it." }),
  key: z.string().min(1).meta({
    description:
      "Your key. AWS: its ARN, no alias. Azure: the resource id of one version of it, /subscriptions/…/vaults/VAULT/keys/KEY/versions/VERSION.",
  }),
});

/** How Secrets are encrypted in etcd. */
export const encryptionSchema = z
  .strictObject({
    keys: z
      .array(
        lowerCaseName()
          .max(20)
          .meta({ ...nameForm, examples: ["key2"] }),
      )
      .min(1)
      .max(3)
      .default([firstEncryptionKey])
      .meta({
        description: `Names of the keys: the first one encrypts, all decrypt. ${firstEncryptionKey} is the key that every cluster without this setting has; any other name is a key of kms, or else a new one in the secret store. A cluster that runs changes its key in three updates, see operations.md; never use a name again.`,
      }),
    kms: z
      .array(kmsKeySchema)
      .max(2)
      .default([])
      .meta({ description: "Those of the keys that are in the cloud's key service: KMS of AWS, Key Vault of Azure." }),
    plugin: z
      .strictObject(
        pinnedFile(
          {
            description: "Where the program lies, not packed.",
            example: "https://files.example.com/aws-encryption-provider",
          },
          "Digest of the program: control-plane machines install nothing else.",
        ),
      )
      .optional()
      .meta({
        description:
          "The program that uses keys of the key service for the API server, built as a static one for Linux: aws-encryption-provider or kubernetes-kms. Wanted where kms has a key.",
      }),
  })
  .meta({ description: "Keys of the encryption of Secrets in etcd." });
