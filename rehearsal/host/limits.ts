/**
 * Longest waits of a rehearsal, in milliseconds, far above what a busy host needs. What cannot come any more is not
 * waited for: a refusal, a program that has ended, or a stage that fails each time ends the wait.
 */
export const limitsMs = {
  /** A check without a limit of its own. */
  check: 120_000,
  /**
   * A check of several waits, whose own limits end it sooner and with a better reason, or with programs still to be
   * built.
   */
  steps: 2_700_000,
  /** A machine on its way to its Node, to Ready, to a healthy member of etcd, or out of its group. */
  machine: 600_000,
  /** A program that waits itself: etcd-restore.sh gives the control plane 185 s to stop. */
  program: 300_000,
  /** What a healthy control plane does at once. One that has lost a machine may be away for half as long. */
  answer: 60_000,
  /** A change, tried again, of an object that controllers write to as well. */
  change: 120_000,
} as const;
