/** One file that a machine receives. */
export interface PayloadFile {
  /** Absolute path on the machine: `/opt/fenestra/bootstrap.sh`, `C:\\fenestra\\bootstrap.ps1`. */
  readonly path: string;
  /** Text of the file, UTF-8, newline `\n`. Never a secret: secrets are fetched at boot with the machine's own identity. */
  readonly content: string;
  /** POSIX mode as cloud-init writes it, for example `0755`. Default `0644`. Ignored on Windows. */
  readonly mode?: string;
}

/** What kind of machine a payload is for. */
type MachineKind = "control-plane" | "linux" | "windows";

/** Everything that a machine receives: its files and its entry point. Contains no secret. */
export interface MachinePayload {
  readonly kind: MachineKind;
  /** Files in the order they are written; paths are unique. */
  readonly files: readonly PayloadFile[];
  /** Path of the file that starts the bootstrap; one of `files`. */
  readonly entry: string;
}

/** Payload of a pool's machines. */
export interface WorkerPayload extends MachinePayload {
  /** Sixteen hexadecimal digits, the value of the node label `fenestra.dev/payload`. */
  readonly fingerprint: string;
}
