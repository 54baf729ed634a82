#!/usr/bin/env bash
# Labels and taints this machine's node as control plane.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

registered() { kube admin get node "$NODE_NAME" --output name >"$scratch/node" 2>&1; }
# It may have: a kubelet registers once, when it starts.
poll "$NODE_ATTEMPTS" registered || { systemctl restart kubelet.service; die "the kubelet has not registered $NODE_NAME: $(tail -n 1 "$scratch/node")"; }
retry 5 2 kubeadm init phase mark-control-plane --config /etc/kubernetes/kubeadm.yaml
retry 5 2 /opt/fenestra/pod-range.sh admin || die "the pods of the Node before are still there"
# A kubelet that could not show a static pod in the API, which had no PriorityClass or no Node yet, tries again after up to
# 90 s (kubernetes: pkg/kubelet/kubelet.go, tryReconcileMirrorPods, fastStaticPodsRegistration).
shown() {
  kube admin --namespace kube-system get pods --selector tier=control-plane \
    --field-selector "spec.nodeName=$NODE_NAME" --output name >"$scratch/pods" && (($(wc -l <"$scratch/pods") >= 4))
}
poll 3 shown || systemctl restart kubelet.service
