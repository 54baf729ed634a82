#!/usr/bin/env bash
# Waits for the notice that this machine is about to be terminated, and then evicts its pods, with the node's own permissions. `kubectl drain`
# would request DaemonSets, which a node may not read.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh

node() { kubectl --kubeconfig /etc/kubernetes/kubelet.conf "$@"; }

until termination_notice; do sleep "$NOTICE_PAUSE"; done
log "this machine is about to be taken away; its pods move"
deadline=$((SECONDS + DRAIN_SECONDS))
beat=$SECONDS

retry 5 2 node cordon "$NODE_NAME" || log "the node cannot be cordoned; the pods move all the same"

# Pods of this node that can move: namespace and name. A DaemonSet's come back at once, mirror pods belong to the machine.
movable() {
  node get pods --all-namespaces --field-selector "spec.nodeName=$NODE_NAME" --output \
    'jsonpath={range .items[*]}{.metadata.namespace}{"\t"}{.metadata.name}{"\t"}{.status.phase}{"\t"}{.metadata.ownerReferences[0].kind}{"\t"}{.metadata.annotations.kubernetes\.io/config\.mirror}{"\n"}{end}' |
    awk -F '\t' '$3 != "Succeeded" && $3 != "Failed" && $4 != "DaemonSet" && $5 == "" { print $1 "\t" $2 }'
}

# evict <namespace> <pod>: refused while a disruption budget does not allow it.
evict() {
  printf '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"namespace":"%s","name":"%s"}}' "$1" "$2" |
    node create --raw "/api/v1/namespaces/$1/pods/$2/eviction" --filename - >/dev/null 2>"$scratch/evict"
}

# heartbeat: reports to the group from time to time that the drain continues, so that the hook's timeout does not cut it short. 0 is never.
heartbeat() {
  if ((DRAIN_HEARTBEAT == 0 || SECONDS < beat)); then return; fi
  draining || log "the group was not told that the drain goes on"
  beat=$((SECONDS + DRAIN_HEARTBEAT))
}

while ((SECONDS < deadline)); do
  heartbeat
  if ! left=$(movable); then
    sleep 2
    continue
  fi
  if [[ -z $left ]]; then break; fi
  while IFS=$'\t' read -r namespace name; do
    evict "$namespace" "$name" || log "$namespace/$name cannot move yet: $(tail -n 1 "$scratch/evict")"
  done <<<"$left"
  sleep 2
done

if left=$(movable) && [[ -n $left ]]; then
  log "the time is over; what is left is deleted"
  while IFS=$'\t' read -r namespace name; do
    node delete pod --namespace "$namespace" "$name" --wait=false >/dev/null || log "$namespace/$name cannot be deleted"
  done <<<"$left"
fi
retry 10 1 drained || die "the group was not told that this machine may go"
log "the pods have moved"
# The unit must not start over for the same notice.
sleep infinity
