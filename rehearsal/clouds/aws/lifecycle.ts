import type { SimulatedMachine } from "../../../plan/fakes/machines.ts";

type Phase = "launch" | "terminate";

/** A lifecycle action at which an instance waits. */
interface Waiting {
  readonly group: string;
  readonly hook: string;
  readonly phase: Phase;
}

/**
 * The lifecycle actions of Auto Scaling groups: from its launch, and from the announcement of its end, an instance
 * waits at each hook of its group until the action is completed (Amazon EC2 Auto Scaling User Guide, "How lifecycle
 * hooks work"; CompleteLifecycleAction). Time ends no action here.
 */
export class LifecycleActions {
  /** By the id of the instance. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #launched = new Set<string>();

  /** Machines whose launch hooks, one at least, were all completed with CONTINUE. */
  get launched(): ReadonlySet<string> {
    return this.#launched;
  }

  launch(machine: SimulatedMachine): void {
    this.#begin(machine, "launch");
  }

  /** A machine's end is announced: it waits at its group's termination hooks alone. */
  terminate(machine: SimulatedMachine): void {
    this.#begin(machine, "terminate");
  }

  forget({ id }: SimulatedMachine): void {
    this.#waiting.delete(id);
    this.#launched.delete(id);
  }

  waits({ id }: Pick<SimulatedMachine, "id">): boolean {
    return (this.#waiting.get(id) ?? []).length > 0;
  }

  /**
   * CompleteLifecycleAction or RecordLifecycleActionHeartbeat, by the form that was sent.
   * @returns message of the ValidationError, if there is one
   */
  act(form: URLSearchParams): string | undefined {
    const group = form.get("AutoScalingGroupName") ?? "";
    const hook = form.get("LifecycleHookName") ?? "";
    const id = form.get("InstanceId") ?? "";
    const waiting = this.#waiting.get(id) ?? [];
    const action = waiting.find((one) => one.group === group && one.hook === hook);
    // The service's own text (convox/rack#2432). That a name of no hook gets it too is not documented; of all answers
    // it is the one that machines take for success.
    if (action === undefined) return `No active Lifecycle Action found with instance ID ${id}`;
    if (form.get("Action") === "RecordLifecycleActionHeartbeat") return undefined;
    const result = form.get("LifecycleActionResult") ?? "";
    if (result !== "CONTINUE" && result !== "ABANDON") return `LifecycleActionResult ${result} is invalid`;
    // One ABANDON ends a launch; at the end of an instance it only lets the other hooks wait no longer.
    const left = result === "ABANDON" ? [] : waiting.filter((one) => one !== action);
    this.#waiting.set(id, left);
    if (action.phase === "launch" && result === "CONTINUE" && left.length === 0) this.#launched.add(id);
    return undefined;
  }

  #begin({ id, group }: SimulatedMachine, phase: Phase): void {
    if (group === undefined) return;
    const hooks = phase === "launch" ? group.launchHooks : group.terminateHooks;
    this.#waiting.set(
      id,
      hooks.map((hook) => ({ group: group.name, hook, phase })),
    );
  }
}
