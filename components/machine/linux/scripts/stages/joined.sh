#!/usr/bin/env bash
# Waits until the node of this machine is Ready and then reports to the group it belongs to.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

is_ready() {
  local answer
  answer=$(kubectl --kubeconfig /etc/kubernetes/kubelet.conf get node "$NODE_NAME" \
    --output 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2>"$scratch/node") && [[ $answer == True ]]
}
if ! poll "$NODE_ATTEMPTS" is_ready; then
  # Without a certificate of its own the kubelet needs a token that has not run out: the next run reads the join secret anew.
  [[ -e /etc/kubernetes/kubelet.conf ]] || rm -f "$state/done/join"
  die "the node $NODE_NAME is not Ready: $(tail -n 1 "$scratch/node")"
fi
retry 10 1 group_ready || die "the group was not told that this machine is ready"
