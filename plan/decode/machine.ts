/** A file as a machine has it once its user data is unpacked. */
export interface DecodedFile {
  readonly path: string;
  readonly content: string;
  /** POSIX mode: `0644`. Windows has none. */
  readonly mode: string | undefined;
}

export interface DecodedUserData {
  readonly system: "linux" | "windows";
  readonly files: readonly DecodedFile[];
  /** Paths of those files that the machine fetches from a bucket at boot; the others are in the user data itself. */
  readonly fetched: readonly string[];
  readonly entry: string;
  /** Commands as they are run, in order; for Linux each as its arguments. */
  readonly commands: readonly (readonly string[])[];
  /** The text that the cloud's own agent reads: the cloud-config, or the loader. */
  readonly source: string;
}

/** User data that its reader on the machine could not read either. */
export class UserDataError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(`the user data is not what a machine can read: ${message}`, options);
    this.name = "UserDataError";
  }
}

/** The content of a file that must be there. @throws UserDataError */
export function fileContent(data: DecodedUserData, path: string): string {
  const found = data.files.find((file) => file.path === path);
  if (found === undefined) throw new UserDataError(`it has no file ${path}`);
  return found.content;
}
