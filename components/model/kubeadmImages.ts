import { minorOf } from "./versions.ts";

/** Versions that kubeadm of a minor chooses itself (kubernetes/kubernetes: cmd/kubeadm/app/constants/constants.go, read in 1.35.1, 1.36.4 and 1.37.1). */
const chosen: Readonly<Record<string, { readonly etcd: string; readonly coredns: string }>> = {
  "1.35": { etcd: "3.6.6-0", coredns: "v1.13.1" },
  "1.36": { etcd: "3.6.8-0", coredns: "v1.14.2" },
  "1.37": { etcd: "3.7.0-0", coredns: "v1.14.6" },
};

/** Images that kubeadm runs as the control plane and its add-ons. Throws RangeError for a minor that is not in the table. */
export function kubeadmImages(version: string): readonly string[] {
  const own = chosen[minorOf(version)];
  if (own === undefined) throw new RangeError(`nobody has written down which images kubeadm ${minorOf(version)} runs`);
  return [
    ...["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"].map(
      (name) => `registry.k8s.io/${name}:v${version}`,
    ),
    `registry.k8s.io/etcd:${own.etcd}`,
    `registry.k8s.io/coredns/coredns:${own.coredns}`,
  ];
}
