import type { WindowsServiceName, WindowsStageName, WindowsStageRule } from "./stages.ts";

/**
 * Groups stages into waves: a stage is in the first wave after those it needs, and the stages of a wave run in parallel. A stage that holds
 * connections is moved after `network` when the two would share a wave, and of stages with a service in common one waits for the other:
 * `network` goes first, since most wait for it. Throws when the stages depend on each other in a cycle.
 */
export function stageWaves(stages: readonly WindowsStageRule[]): readonly (readonly WindowsStageName[])[] {
  const waves: WindowsStageName[][] = [];
  const done = new Set<WindowsStageName>();
  while (done.size < stages.length) {
    const able = stages.filter(({ name, needs }) => !done.has(name) && needs.every((need) => done.has(need)));
    if (able.length === 0) throw new RangeError("the stages need each other in a circle");
    const cutting = able.some(isNetwork);
    const candidates = able.filter(({ connects }) => !(cutting && connects === true));
    const taken = new Set<WindowsServiceName>();
    const wave = [...candidates.filter(isNetwork), ...candidates.filter((stage) => !isNetwork(stage))].filter(({ services = [] }) => {
      if (services.some((service) => taken.has(service))) return false;
      for (const service of services) taken.add(service);
      return true;
    });
    waves.push(wave.map(({ name }) => name));
    for (const { name } of wave) done.add(name);
  }
  return waves;
}

function isNetwork({ name }: WindowsStageRule): boolean {
  return name === "network";
}

/** Seconds between attempts: doubled each time up to the cap, which then repeats indefinitely. */
export function pauseSeconds(first: number, cap: number): readonly number[] {
  const pauses: number[] = [];
  for (let pause = first; pause < cap; pause *= 2) pauses.push(pause);
  return [...pauses, cap];
}
