/**
 * How long a refusal must last, in milliseconds. A kubelet also asks before it has its rights: again after 2, 4 and 8
 * seconds for its first certificate (client-go: util/certificate/certificate_manager.go), after 7 at most for its Node.
 */
const patienceMs = 15_000;

/**
 * What keeps kubelets from having a Node, and since when, whatever it says: one that trusts another authority is
 * refused certificate and Node in turns.
 */
export class Refusals {
  readonly #since = new Map<string, number>();
  readonly #look: () => Promise<readonly string[]>;

  /** @param look finds the refusals of now, each as `machine: reason` */
  constructor(look: () => Promise<readonly string[]>) {
    this.#look = look;
  }

  /** Those that do not pass by themselves, the machines of one reason in one line. */
  async lasting(): Promise<readonly string[]> {
    const now = Date.now();
    const refused = await this.#look();
    const machines = new Set(refused.map(machineOf));
    for (const machine of this.#since.keys()) if (!machines.has(machine)) this.#since.delete(machine);
    for (const machine of machines) this.#since.set(machine, this.#since.get(machine) ?? now);
    return byReason(refused.filter((problem) => now - (this.#since.get(machineOf(problem)) ?? now) > patienceMs));
  }
}

function machineOf(problem: string): string {
  return problem.split(": ", 1)[0] ?? "";
}

/** Problems with each reason in one line: `a (and 2 more): reason`. Pure. */
export function byReason(problems: readonly string[]): readonly string[] {
  const machines = new Map<string, string[]>();
  for (const problem of problems) {
    const [, machine = problem, reason = ""] = /^(\S+): (.*)$/s.exec(problem) ?? [];
    machines.set(reason, [...(machines.get(reason) ?? []), machine]);
  }
  return [...machines].map(([reason, [first, ...more]]) =>
    more.length === 0 ? `${first}: ${reason}` : `${first} (and ${more.length} more): ${reason}`,
  );
}
