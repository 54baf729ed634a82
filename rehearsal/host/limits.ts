/**
 * Longest waits of a rehearsal, in milliseconds: far above what a busy host needs, so that nothing fails for being
 * slow. What cannot come any more is not waited for: a refusal, a program that has ended or a stage that fails each
 * time ends the waiting.
 */
export const limitsMs = {
  /** A check that does not say more itself. */
  check: 120_000,
  /**
   * A check of several waits, which end it sooner by their own limits and with a better reason, or one whose programs
   * may still be built.
   */
  steps: 2_700_000,
  /** A machine on its way to its Node, to Ready, to a healthy member of etcd, or out of its group. */
  machine: 600_000,
  /** A program that waits itself: etcd-restore.sh gives the control plane 185 s to stop. */
  program: 300_000,
  /** What a control plane that is well does at once. One that has lost a machine may be away for half as long. */
  answer: 60_000,
  /** A change of an object to which controllers write as well, and which is therefore tried again. */
  change: 120_000,
} as const;
