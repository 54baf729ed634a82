import { compareVersions } from "./releases.ts";

/** What the upgrade rule compares: kept in the state, because a program that calls no cloud cannot see the old version otherwise. */
export interface UpgradeState {
  /** Kubernetes release, `1.36.4`. */
  readonly version: string;
  /** Control-plane machines. */
  readonly replicas: number;
}

/**
 * Why the control plane may not go from one state to the other, or `undefined` when it may. Pure.
 *
 * A Kubernetes minor is never skipped and never taken back: kubeadm and the API server support neither (Kubernetes version skew policy).
 * An etcd cluster does not shrink from three members to one, since the two that leave hold the quorum.
 */
export function upgradeProblem(from: UpgradeState, to: UpgradeState): string | undefined {
  const [fromMajor, fromMinor] = numbers(from.version);
  const [toMajor, toMinor] = numbers(to.version);
  if (compareVersions(to.version, from.version) < 0) {
    return `fenestra:kubernetes.version goes back from ${from.version} to ${to.version}; Kubernetes supports no downgrade: set ${from.version} or a later release`;
  }
  if (toMajor !== fromMajor || toMinor > fromMinor + 1) {
    return `fenestra:kubernetes.version skips a minor from ${from.version} to ${to.version}; upgrade to a ${fromMajor}.${fromMinor + 1} release first`;
  }
  if (to.replicas < from.replicas) {
    return `fenestra:controlPlane.replicas shrinks from ${from.replicas} to ${to.replicas}; the members that leave hold etcd's quorum: keep ${from.replicas}`;
  }
  return undefined;
}

function numbers(version: string): readonly [major: number, minor: number] {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return [major, minor];
}
