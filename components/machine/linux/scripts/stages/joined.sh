#!/usr/bin/env bash
# Waits until this machine's node is Ready and then reports to its group.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

# arrived: sees at once that a Node which is there gets Ready; a kubectl each second would take a tenth of a processor.
# `poll` counts seconds.
arrived() {
  local from=$SECONDS
  answer=$(KUBE_SECONDS=20 kube kubelet wait node "$NODE_NAME" --for condition=Ready --timeout 15s 2>&1) && return
  attempt=$((attempt + SECONDS - from))
  return 1
}
if ! poll "$NODE_ATTEMPTS" arrived; then
  # Until it has a certificate the kubelet needs a token that is good: the next run reads the join secret again. Its
  # kubeconfig is there from its start on (kubernetes/kubernetes, pkg/kubelet/certificate/bootstrap:
  # writeKubeconfigFromBootstrapping).
  openssl x509 -in /var/lib/kubelet/pki/kubelet-client-current.pem -noout -checkend 0 >"$scratch/certificate" 2>&1 || rm -f "$state/done/join"
  node_ready || die "the node $NODE_NAME is not Ready: ${answer##*$'\n'}"
fi
retry 5 2 /opt/fenestra/pod-range.sh kubelet || die "the pods of the Node before are still there"
retry 10 1 group_ready || die "the group was not told that this machine is ready"
