#!/usr/bin/env bash
# Labels and taints this machine's node as control plane.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

registered() { kube admin get node "$NODE_NAME" --output name >"$scratch/node" 2>&1; }
poll "$NODE_ATTEMPTS" registered || die "the kubelet has not registered $NODE_NAME: $(tail -n 1 "$scratch/node")"
retry 5 2 kubeadm init phase mark-control-plane --config /etc/kubernetes/kubeadm.yaml
retry 5 2 /opt/fenestra/pod-range.sh admin || die "the pods of the Node before are still there"
