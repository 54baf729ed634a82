import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { z } from "zod";

/** What the value of a flag must look like; `value` is anything. */
export const kinds = ["bool", "duration", "float", "int", "value"] as const;

const schema = z.array(
  z.strictObject({
    program: z.string(),
    mode: z.string().optional(),
    parser: z.enum(["go", "pflag", "kingpin"]),
    /** References, their tags without `v`. */
    images: z.array(z.string()),
    /** Module with its version, and how its flags were found. */
    from: z.string(),
    /** Names of the flags by kind, parted by spaces. */
    flags: z.partialRecord(z.enum(kinds), z.string()),
  }),
);

/** The flags of one program. */
export type FlagRecord = z.infer<typeof schema>[number];

/** The data file. */
export const flagsFile = fileURLToPath(new URL("flags.json", import.meta.url));

/** What was recorded. */
export function flagRecords(): readonly FlagRecord[] {
  return existsSync(flagsFile) ? schema.parse(JSON.parse(readFileSync(flagsFile, "utf8"))) : [];
}
