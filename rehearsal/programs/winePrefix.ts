/** Folder of a Windows machine's own prefix. */
export const machinePrefix = "/wine";

/** Folders of `C:\` that no program of a rehearsal writes to, so that all prefixes share them. */
const sharedFolders = ["windows", "Program Files"];

/**
 * Shell commands that make a prefix from the template, with programs in it.
 * @param programs path of the host by path of `C:\`
 */
export function prefixScript(template: string, prefix: string, programs: Readonly<Record<string, string>>): string {
  const drive = `${prefix}/drive_c`;
  return [
    "set -eu",
    `mkdir -p ${prefix}/dosdevices ${drive}/users`,
    `cp ${template}/*.reg ${template}/.update-timestamp ${prefix}`,
    `ln -s ../drive_c ${prefix}/dosdevices/c:`,
    ...Object.entries(programs).map(([at, file]) => installScript(prefix, at, file)),
    ...sharedFolders.map((folder) => `ln -s '${template}/drive_c/${folder}' '${drive}/${folder}'`),
  ].join("\n");
}

/** Shell command that puts a program of the host at a path of `C:\`. */
export function installScript(prefix: string, at: string, file: string): string {
  const path = pathInPrefix(prefix, at);
  return `mkdir -p '${path.replace(/\/[^/]*$/, "")}' && ln -sfn '${file}' '${path}'`;
}

/** Where a file of `C:\` lies for Linux programs. */
export function pathInPrefix(prefix: string, file: string): string {
  return `${prefix}/drive_c/${file.replace(/^C:[\\/]/i, "").replaceAll("\\", "/")}`;
}
