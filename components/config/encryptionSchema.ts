import { z } from "zod";
import { firstEncryptionKey } from "../model/secretsEncryption.ts";
import { lowerCaseName, nameForm } from "./forms.ts";

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
        description: `Names of the keys: the first one encrypts, all decrypt. ${firstEncryptionKey} is the key that every cluster without this setting has; any other name is a new one in the secret store. A cluster that runs changes its key in three updates, see operations.md; never use a name again.`,
      }),
  })
  .meta({ description: "Keys of the encryption of Secrets in etcd." });
