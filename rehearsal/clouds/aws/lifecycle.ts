import type { SimulatedMachine } from "../../../plan/fakes/machines.ts";

type Phase = "launch" | "terminate";

/** A lifecycle action at which an instance waits. */
interface Waiting {
  readonly group: string;
  readonly hook: string;
  readonly phase: Phase;
}

/**
 * The lifecycle actions of Auto Scaling groups: an instance waits at each hook of its group from its launch and from
 * the announcement of its end, until the action is completed, once (Amazon EC2 Auto Scaling User Guide, "How lifecycle
 * hooks work"; CompleteLifecycleAction). Time does not end an action here.
 */
export class LifecycleActions {
  /** By the id of the instance. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #launched = new Set<string>();

  /** Machines of which each launch hook was completed with CONTINUE; there was one at least. */
  get launched(): ReadonlySet<string> {
    return this.#launched;
  }

  /** A machine starts: it waits at its group's launch hooks. */
  launch(machine: SimulatedMachine): void {
    this.#begin(machine, "launch");
  }

  /** A machine's end is announced: it waits at its group's termination hooks and at no other any more. */
  terminate(machine: SimulatedMachine): void {
    this.#begin(machine, "terminate");
  }

  /** A machine is gone. */
  forget({ id }: SimulatedMachine): void {
    this.#waiting.delete(id);
    this.#launched.delete(id);
  }

  /** Whether a machine waits at a hook. */
  waits({ id }: Pick<SimulatedMachine, "id">): boolean {
    return (this.#waiting.get(id) ?? []).length > 0;
  }

  /**
   * CompleteLifecycleAction or RecordLifecycleActionHeartbeat, by the form that was sent.
   *
   * @returns message of the ValidationError, `undefined` when the call is right
   */
  act(form: URLSearchParams): string | undefined {
    const group = form.get("AutoScalingGroupName") ?? "";
    const hook = form.get("LifecycleHookName") ?? "";
    const id = form.get("InstanceId") ?? "";
    const waiting = this.#waiting.get(id) ?? [];
    const action = waiting.find((one) => one.group === group && one.hook === hook);
    // The service's own text (convox/rack#2432). That it is also the answer to a name that no hook has is not
    // documented; of all answers it is the one that machines take for success.
    if (action === undefined) return `No active Lifecycle Action found with instance ID ${id}`;
    if (form.get("Action") === "RecordLifecycleActionHeartbeat") return undefined;
    const result = form.get("LifecycleActionResult") ?? "";
    if (result !== "CONTINUE" && result !== "ABANDON") return `LifecycleActionResult ${result} is invalid`;
    // One ABANDON ends an instance's launch; at its end it only lets the other hooks wait no longer.
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
