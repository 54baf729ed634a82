/** One step of a machine's bootstrap. */
export interface Stage {
  /** Name of the script below `/opt/fenestra/stages`, and of the stage in the log. */
  readonly name: string;
  /** Exit code of the bootstrap when this stage fails, 10 to 63: lower ones are bash's own, higher ones those of sysexits(3). */
  readonly exitCode: number;
  /** Files of the payload that the stage depends on besides its script, the library and `machine.env`. */
  readonly reads: readonly string[];
  /** `always`: runs at each boot, since a restart undoes its effect or the world outside may have changed. */
  readonly mode: "once" | "always";
}
