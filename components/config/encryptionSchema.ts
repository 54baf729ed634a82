import { z } from "zod";
import { firstEncryptionKey } from "../model/secretsEncryption.ts";
import { described, lowerCaseName, nameForm, section } from "./forms.ts";

export const encryptionSchema = section("Keys of the encryption of Secrets in etcd.", {
  keys: described(
    z
      .array(
        lowerCaseName()
          .max(20)
          .meta({ ...nameForm, examples: ["key2"] }),
      )
      .min(1)
      .max(3)
      .default([firstEncryptionKey]),
    `Names of the keys: the first one encrypts, all decrypt. ${firstEncryptionKey} is the key that every cluster without this setting has; any other name is a new one in the secret store. A cluster that runs changes its key in three updates, see operations.md; never use a name again.`,
  ),
});
