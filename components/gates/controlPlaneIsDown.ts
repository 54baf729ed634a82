/** Set to `down` for one update, when there is no control plane left whose quorum must be kept. */
export const downVariable = "FENESTRA_CONTROL_PLANE";

/**
 * Whether the deployer declares that the whole control plane is down, or has never come up. From outside that looks like a missing route to
 * it, so only a person can decide it. No machine then waits for another; the last gate still waits for all of them.
 */
export function controlPlaneIsDown(): boolean {
  return process.env[downVariable] === "down";
}
