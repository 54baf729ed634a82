import { z } from "zod";

/** What a plan reads of an own image's `image.json`. */
const imageRecordSchema = z.looseObject({
  format: z.literal(1),
  os: z.string(),
  product: z.string(),
  base: z.string(),
  built: z.iso.datetime(),
  stages: z.array(z.looseObject({ name: z.string(), hash: z.string() })),
  images: z.array(z.string()),
});

export type ImageRecord = z.output<typeof imageRecordSchema>;

/** Days after which an image's updates and signatures are old. */
export const imageDays = 45;

/** The record, or what is wrong with it. */
export function readImageRecord(text: string): ImageRecord | string {
  try {
    const { data, error } = imageRecordSchema.safeParse(JSON.parse(text));
    return data ?? z.prettifyError(error);
  } catch {
    return "it is no JSON";
  }
}

const machineSchema = z.looseObject({
  pool: z.string(),
  os: z.looseObject({ name: z.string() }),
  stages: z.array(z.looseObject({ name: z.string(), content: z.string().optional() })),
});

/** Stages that an image's machines skip and run; `undefined` where the text is no machine's. */
export function broughtBy({ os, stages }: ImageRecord, machineJson: string) {
  const { data: machine } = machineSchema.safeParse(JSON.parse(machineJson));
  if (machine === undefined) return undefined;
  const has = (name: string, hash: string) =>
    os === machine.os.name && stages.some((each) => each.name === name && each.hash === hash);
  const baked = machine.stages.flatMap(({ name, content }) => (content === undefined ? [] : [{ name, content }]));
  const named = (there: boolean) =>
    baked.filter(({ name, content }) => has(name, content) === there).map(({ name }) => name);
  return { pool: machine.pool, skipped: named(true), run: named(false) };
}
