#!/usr/bin/env bash
# What the user wants done once the node is Ready: annotations, script.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

annotate() {
  kubectl --kubeconfig /etc/kubernetes/kubelet.conf patch node "$NODE_NAME" --patch-file /etc/fenestra/node-patch.json >/dev/null
}
if [[ -e /etc/fenestra/node-patch.json ]]; then
  retry 10 1 annotate || die "the node does not take its annotations"
fi
if [[ -e /opt/fenestra/own/after.sh ]]; then
  bash /opt/fenestra/own/after.sh || die "afterJoin of the pool ended with $?"
fi
