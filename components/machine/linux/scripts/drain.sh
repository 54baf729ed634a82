#!/usr/bin/env bash
# Waits for the notice that this machine is about to be terminated or interrupted, and then evicts its pods, with the node's own
# permissions. `kubectl drain` would request DaemonSets, which a node may not read. A machine that is back takes pods again, if it was this
# that kept them away.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh

# within <command...>: a call that takes no longer than what is left, three seconds at most, or the cloud's notice would
# run out meanwhile.
within() {
  local left=$((deadline - SECONDS))
  KUBE_SECONDS=$((left > 3 ? 3 : left < 1 ? 1 : left)) "$@"
}
node() { within kube kubelet "$@"; }

# of_node <JSONPath>: that field of this machine's Node. An answer without its name is none.
of_node() {
  local answer
  answer=$(node get node "$NODE_NAME" --output "jsonpath={.metadata.name}|$1") && [[ $answer == "$NODE_NAME|"* ]] || return 1
  printf %s "${answer#*|}"
}

change() { node patch node "$NODE_NAME" --type merge --patch "$1" >/dev/null; }

# Load balancers of Services let a node go for this label, whatever its value, and not for a cordon
# (kubernetes/cloud-provider: controllers/service/controller.go, stableNodeSetPredicates). The value is our mark.
excluded=node.kubernetes.io/exclude-from-external-load-balancers

# cordon: with a mark, unless somebody else has cordoned the node: that stays. A machine that leaves gets the label too.
cordon() {
  local is
  is=$(of_node '{.spec.unschedulable}|{.metadata.labels}') || return 1
  [[ $is == 'true|'* ]] ||
    change '{"metadata":{"annotations":{"fenestra.dev/cordoned":"notice"}},"spec":{"unschedulable":true}}' || return 1
  if [[ -z $LEAVES || $is == *"\"$excluded\":"* ]]; then return 0; fi
  change '{"metadata":{"labels":{"'"$excluded"'":"fenestra-drain"}}}' || return 1
  told=$SECONDS
}

# uncordon: where the marks are there.
uncordon() {
  local marks
  marks=$(of_node "{.metadata.annotations.fenestra\.dev/cordoned}|{.metadata.labels.${excluded//./\\.}}") || return 1
  if [[ $marks == *'|fenestra-drain' ]]; then
    change '{"metadata":{"labels":{"'"$excluded"'":null}}}' || return 1
  fi
  if [[ $marks == '|'* ]]; then return 0; fi
  change '{"metadata":{"annotations":{"fenestra.dev/cordoned":null}},"spec":{"unschedulable":null}}' || return 1
  log "this machine is back; pods may come"
}

# ensure_cordon: somebody may have deleted the Node already: its pods move all the same.
ensure_cordon() {
  if ((cordoned)); then return 0; fi
  if cordon; then cordoned=1; else log "the node is not cordoned; its pods move all the same"; fi
}

# Pods of this node that can move: namespace and name. A DaemonSet's come back at once, mirror pods belong to the
# machine: without any the list is none, unless the Node is gone.
movable() {
  local list
  list=$(node get pods --all-namespaces --field-selector "spec.nodeName=$NODE_NAME" --output \
    'jsonpath={range .items[*]}{.metadata.namespace}{"\t"}{.metadata.name}{"\t"}{.status.phase}{"\t"}{.metadata.ownerReferences[0].kind}{"\t"}{.metadata.annotations.kubernetes\.io/config\.mirror}{"\n"}{end}') || return 1
  if [[ $list != *$'\tDaemonSet\t'* && $(node get node "$NODE_NAME" --output name 2>&1) != *NotFound* ]]; then return 1; fi
  awk -F '\t' '$2 != "" && $3 != "Succeeded" && $3 != "Failed" && $4 != "DaemonSet" && $5 == "" { print $1 "\t" $2 }' <<<"$list"
}

# evict <namespace> <pod>: refused while a disruption budget does not allow it. Fails when the API has not answered.
evict() {
  local words
  words=$(printf '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"namespace":"%s","name":"%s"}}' "$1" "$2" |
    node create --raw "/api/v1/namespaces/$1/pods/$2/eviction" --filename - 2>&1 >/dev/null) && return 0
  log "$1/$2 cannot move yet: ${words##*$'\n'}"
  [[ $words == *'Error from server'* ]]
}

# heartbeat: reports to the group from time to time that the drain continues, so that the hook's timeout does not cut it
# short. 0 is never.
heartbeat() {
  if ((DRAIN_HEARTBEAT == 0 || SECONDS < beat)); then return; fi
  beat=$((SECONDS + DRAIN_HEARTBEAT))
  FETCH_TIMEOUT=5 draining || log "the group was not told that the drain goes on"
}

# round: one look at the pods and one eviction each. Fails while there are any, or none are known.
round() {
  local pods namespace name
  heartbeat
  ensure_cordon
  pods=$(movable) || return 1
  left=$pods
  if [[ -z $left ]]; then return 0; fi
  while IFS=$'\t' read -r namespace name && ((SECONDS < deadline)); do
    evict "$namespace" "$name" || return 1
    heartbeat
  done <<<"$left"
  return 1
}

# released: until the kubelet has said that no disk is in use any more, which it does every ten seconds. The disks of a
# machine that goes before are taken from it after six minutes only (kubernetes:
# pkg/controller/volume/attachdetach/reconciler, MountedByNode).
released() {
  local used=unknown end=$((SECONDS + 30))
  while ((SECONDS < deadline && SECONDS < end)); do
    used=$(node get node "$NODE_NAME" --ignore-not-found --output 'jsonpath={.status.volumesInUse[*]}') || used=unknown
    if [[ -z $used ]]; then return 0; fi
    heartbeat
    sleep 2
  done
  log "disks are in use, or nobody says that they are not: $used"
}

# let_go: until load balancers send nothing new to this machine, as far as the notice allows. Nobody waits where no
# Service has ports on machines; there is always one of type ClusterIP, the API's.
let_go() {
  local types
  types=$(node get services --all-namespaces --output 'jsonpath={.items[*].spec.type}') || types=
  if [[ $types == *ClusterIP* && $types != *LoadBalancer* && $types != *NodePort* ]]; then return 0; fi
  while ((SECONDS < told + BALANCER_SECONDS && SECONDS < notice_end)) && ! unwanted; do
    heartbeat
    ensure_cordon
    sleep 2
  done
}

# unwanted: somebody has marked the Node, so that its machine goes without a drain.
unwanted() {
  [[ -n $LEAVES && $(of_node '{.metadata.annotations.fenestra\.dev/drain}') == skip ]] || return 1
  log "the Node has fenestra.dev/drain: skip"
}

# drain: until the pods have moved, or the time is over. A pod that cannot move from a machine that comes back stays.
drain() {
  local namespace name
  deadline=$((SECONDS + (NOTICE_SECONDS < 5 ? 5 : NOTICE_SECONDS < DRAIN_SECONDS ? NOTICE_SECONDS : DRAIN_SECONDS)))
  beat=$SECONDS
  told=$SECONDS
  notice_end=$((SECONDS + NOTICE_SECONDS))
  left=unknown
  cordoned=0
  while ((SECONDS < deadline)) && ! round && ! unwanted; do sleep 2; done
  # `round` fails in the last second too, and with no time at all nobody has asked.
  if [[ $left == unknown ]]; then left=$(movable) || left=unknown; fi
  if [[ -z $left ]]; then
    log "the pods have moved"
    if [[ -n $LEAVES ]]; then released; fi
  elif [[ $left == unknown ]]; then
    log "the time is over, and nobody has said which pods are left"
  elif [[ -z $LEAVES ]]; then
    log "the time is over; what is left stays"
  else
    log "what is left is deleted"
    while IFS=$'\t' read -r namespace name; do
      printf '{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"%s","name":"%s"}}\n' "$namespace" "$name"
    done <<<"$left" | KUBE_SECONDS=5 kube kubelet delete --wait=false --ignore-not-found --filename - >/dev/null ||
      log "what is left cannot be deleted"
  fi
  if [[ -n $LEAVES ]]; then let_go; fi
}

# joined: the file with the machine's identity may be torn, and a machine that has not joined has no pods.
joined() {
  [[ -n ${NODE_NAME:-} ]] || retry 3 1 cloud_identity || log "error: who this machine is cannot be found out"
  [[ -e /etc/kubernetes/kubelet.conf && -n ${NODE_NAME:-} ]]
}

# What began with the same words is one notice, which is there until it is over. The first look is perhaps behind the
# restart that it was about.
begun=unknown
while :; do
  status=0
  notice || status=$?
  if ((status == 0)) && [[ -n $LEAVES || $begun != interrupted ]]; then
    begun=interrupted
    if [[ -n $LEAVES ]]; then begun="taken away"; fi
    log "this machine is about to be $begun; its pods move"
    if joined; then drain; fi
    if [[ -n $LEAVES ]]; then
      retry 10 1 drained || die "the group was not told that this machine may go"
      sleep "$LEAVE_SECONDS"
      # `tell_failed` writes it on the Node. A notice that stands begins anew; one that is gone gives the machine back.
      log "warning: this machine was to be taken away, and is still here"
      : >"$scratch/overdue" || true
      continue
    fi
    drained || log "the cloud was not told that it may begin"
  elif ((status == 1)) && [[ -n $begun ]] && joined; then
    deadline=$((SECONDS + 10))
    if uncordon; then
      begun=
      rm -f "$scratch/overdue"
    fi
  fi
  sleep "$NOTICE_PAUSE"
done
