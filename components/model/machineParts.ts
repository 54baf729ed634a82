export interface PayloadFile {
  /** Absolute path on the machine: `/opt/fenestra/bootstrap.sh`, `C:\\fenestra\\bootstrap.ps1`. */
  readonly path: string;
  /**
   * Text of the file, UTF-8, newline `\n`. Never a secret: secrets are fetched at boot with the machine's own identity.
   */
  readonly content: string;
  /** POSIX mode as cloud-init writes it, for example `0755`. Default `0644`. Ignored on Windows. */
  readonly mode?: string;
}

/** One step of a Linux machine's bootstrap. */
export interface Stage {
  /** Name of the script below `/opt/fenestra/stages`, and of the stage in the log. */
  readonly name: string;
  /**
   * Exit code of the bootstrap when this stage fails, 10 to 63: lower ones are bash's own, higher ones those of
   * sysexits(3).
   */
  readonly exitCode: number;
  /** Files of the payload that the stage depends on besides its script, the library and `machine.env`. */
  readonly reads: readonly string[];
  /** `always`: runs at each boot, since a restart undoes its effect or the world outside may have changed. */
  readonly mode: "once" | "always";
}

/** Values that a Windows machine's registry gets. */
export interface RegistryKey {
  readonly path: string;
  readonly type: "DWord" | "String" | "ExpandString";
  readonly values: Readonly<Record<string, number | string>>;
  /** Whether its values take effect only after a restart of Windows, because drivers or services read them at start. */
  readonly reboot: boolean;
}
