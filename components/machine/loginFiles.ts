import type { PayloadFile } from "./payload.ts";
import { windowsPaths } from "./windows/paths.ts";

/*
 * Files with a login: the payload has templates with placeholders, of which the stage `credentials` writes the files at each boot, for root or
 * the system only.
 */

/** Where templates are; below it each has the path of its file, on Windows without the drive. */
const templates = { linux: "/etc/fenestra/templates", windows: `${windowsPaths.root}\\templates` } as const;

/** The files of a payload, those with a placeholder for a login as templates. */
export function withTemplates(os: "linux" | "windows", files: readonly PayloadFile[]): readonly PayloadFile[] {
  return files.map((file) => (needsLogin(file) ? { ...file, path: templatePath(os, file) } : file));
}

/** The files that a machine makes of templates, with their templates. */
export function loginFiles(os: "linux" | "windows", files: readonly PayloadFile[]) {
  return files.filter(needsLogin).map((file) => ({ template: templatePath(os, file), path: file.path }));
}

function needsLogin({ content }: PayloadFile): boolean {
  return /@LOGIN_[0-9A-Z]+@/.test(content);
}

function templatePath(os: "linux" | "windows", { path }: PayloadFile): string {
  return templates[os] + path.replace(/^[A-Z]:/, "");
}
