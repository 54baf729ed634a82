#!/usr/bin/env bash
# What the user wants done once the node is Ready: annotations, script.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

annotate() {
  kube kubelet patch node "$NODE_NAME" --patch-file /etc/fenestra/node-patch.json >/dev/null
}
if [[ -e /etc/fenestra/node-patch.json ]]; then
  retry 10 1 annotate || die "the node does not take its annotations"
fi
if [[ -e /opt/fenestra/own/after.sh ]]; then
  own_script after || die "afterJoin of the pool ended with $?, see $own_log"
fi
