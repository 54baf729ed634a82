export interface PayloadFile {
  /** Absolute path on the machine: `/opt/fenestra/bootstrap.sh`, `C:\\fenestra\\bootstrap.ps1`. */
  readonly path: string;
  /** UTF-8, newline `\n`. Never a secret: secrets are fetched at boot with the machine's own identity. */
  readonly content: string;
  /** POSIX mode as cloud-init writes it, such as `0755`. Default `0644`. Ignored on Windows. */
  readonly mode?: string;
}

/** One step of a Linux machine's bootstrap. */
export interface Stage {
  /** Name of the script below `/opt/fenestra/stages`, and in the log. */
  readonly name: string;
  /** Exit code of the bootstrap when it fails, 10 to 63: lower ones are bash's, higher ones of sysexits(3). */
  readonly exitCode: number;
  /** Files of the payload that it needs besides its script, the library and `machine.env`. */
  readonly reads: readonly string[];
  /** `always`: runs at each boot, since a restart undoes its effect or the world outside may have changed. */
  readonly mode: "once" | "always";
}

export interface RegistryKey {
  readonly path: string;
  readonly type: "DWord" | "String" | "ExpandString";
  readonly values: Readonly<Record<string, number | string>>;
  /** Whether drivers or services read it at start only, so that Windows must restart. */
  readonly reboot: boolean;
}
