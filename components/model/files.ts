import { lstatSync, statSync } from "node:fs";

/** Longer than any file that people write for this program. */
const mostBytes = 2 ** 22;

/** Why a user's file cannot be read: a pipe would be waited for, and a device has no end. */
export function fileProblem(file: URL | string): string | undefined {
  try {
    const found = statSync(file);
    if (!found.isFile()) return "cannot be read: it is no plain file";
    return found.size > mostBytes ? `cannot be read: it has ${found.size} bytes, more than ${mostBytes}` : undefined;
  } catch (error) {
    return `cannot be read: ${Reflect.get(Object(error), "code")}`;
  }
}

/** Whether there is something of that name, also a link that leads nowhere: what it was to say would be left out. */
export const isThere = (file: string): boolean => {
  try {
    return lstatSync(file) !== undefined;
  } catch {
    return false;
  }
};
