#!/usr/bin/env bash
# Waits until this machine's node is Ready and then reports to its group.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

is_ready() {
  local answer
  answer=$(KUBE_SECONDS=5 kube kubelet get node "$NODE_NAME" \
    --output 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2>"$scratch/node") && [[ $answer == True ]]
}
if ! poll "$NODE_ATTEMPTS" is_ready; then
  # Until it has a certificate the kubelet needs an unexpired token: the next run reads the join secret again.
  [[ -e /etc/kubernetes/kubelet.conf ]] || rm -f "$state/done/join"
  die "the node $NODE_NAME is not Ready: $(tail -n 1 "$scratch/node")"
fi
retry 10 1 group_ready || die "the group was not told that this machine is ready"
