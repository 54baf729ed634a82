/** Folders of `C:\` that no program of a rehearsal writes to, so that all prefixes share them. */
const sharedFolders = ["windows", "Program Files"];

/**
 * Shell commands that make a prefix from the template, with programs in the folder of the node's programs.
 * @param programs path by name
 */
export function prefixScript(template: string, prefix: string, programs: Readonly<Record<string, string>>): string {
  const drive = `${prefix}/drive_c`;
  return [
    "set -eu",
    `mkdir -p ${prefix}/dosdevices ${drive}/fenestra/bin ${drive}/users`,
    `cp ${template}/*.reg ${template}/.update-timestamp ${prefix}`,
    `ln -s ../drive_c ${prefix}/dosdevices/c:`,
    ...Object.entries(programs).map(([name, file]) => `ln -s ${file} ${drive}/fenestra/bin/${name}`),
    ...sharedFolders.map((folder) => `ln -s '${template}/drive_c/${folder}' '${drive}/${folder}'`),
  ].join("\n");
}

/** Where a file of `C:\` lies for Linux programs. */
export function pathInPrefix(prefix: string, file: string): string {
  return `${prefix}/drive_c/${file.replace(/^C:\\/i, "").replaceAll("\\", "/")}`;
}
