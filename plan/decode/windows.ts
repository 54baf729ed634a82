import { type DecodedFile, type DecodedUserData, UserDataError } from "./machine.ts";
import { type Archive, fetchScripts, type ObjectStore, parseJson, readArchive, unpack } from "./scriptsObject.ts";

/** How the loader holds the archive: base64 between single quotes. */
const holder = /^\$p='([A-Za-z0-9+/]+={0,2})'$/gm;

/** Name of the file that says where the rest of the scripts is. */
const secondStagePath = "C:\\fenestra\\scripts.json";

/**
 * Reads a Windows machine's user data as its agent and the loader do: the script in `<powershell>` (EC2Launch v2), or the whole text
 * (Azure's CustomData.bin), then the base64 archive in it, as JSON. Where the archive names an object with the rest of the scripts, that is
 * fetched and held against its digest, as the machine does.
 *
 * @param objects the store that the machine would fetch from, by default an empty one.
 * @throws UserDataError when the machine could not read it.
 */
export function decodeWindows(userData: Buffer, objects: ObjectStore = () => undefined): DecodedUserData {
  const source = userData.toString("utf8");
  const script = /^<powershell>\n([\s\S]*?)^<\/powershell>/m.exec(source)?.[1] ?? source;
  const [packed, second] = [...script.matchAll(holder)].flatMap(([, text]) => text ?? []);
  if (packed === undefined) throw new UserDataError("its loader holds no archive");
  if (second !== undefined) throw new UserDataError("its loader holds more than one archive");
  const first = readArchive(unpack(Buffer.from(packed, "base64")));
  requireEntry(first);
  const rest = secondStage(first, objects);
  const files = { ...first.files, ...rest?.files };
  const entry = rest?.entry ?? first.entry;
  requireEntry({ entry, files });
  return {
    system: "windows",
    files: Object.entries(files).map(([path, content]): DecodedFile => ({ path, content, mode: undefined })),
    entry,
    fetched: Object.keys(rest?.files ?? {}),
    commands: [[first.entry]],
    source,
  };
}

function requireEntry({ entry, files }: Archive): void {
  if (files[entry] === undefined) throw new UserDataError(`the entry ${entry} is not one of its files`);
}

function secondStage({ files }: Archive, objects: ObjectStore): Archive | undefined {
  const text = files[secondStagePath];
  return text === undefined ? undefined : fetchScripts(secondStagePath, parseJson(text), objects);
}
