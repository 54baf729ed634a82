#!/usr/bin/env bash
# Queries to etcd's members. Sourced after lib.sh.
# shellcheck disable=SC2154 # lib.sh has read the machine's data
export ETCDCTL_CACERT=/etc/kubernetes/pki/etcd/ca.crt
export ETCDCTL_CERT=/etc/kubernetes/pki/etcd/healthcheck-client.crt
export ETCDCTL_KEY=/etc/kubernetes/pki/etcd/healthcheck-client.key

answering=
members=

etcd_at() {
  local endpoint=$1
  shift
  etcdctl --endpoints "$endpoint" --dial-timeout 3s --command-timeout 8s "$@"
}

# ask_peers: finds a peer that answers with a quorum and stores the list of members. Fails when there is none.
ask_peers() {
  local address
  answering=
  for address in $PEER_ADDRESSES; do
    if members=$(etcd_at "https://$address:2379" member list --write-out simple 2>"$scratch/etcd"); then
      answering=https://$address:2379
      return 0
    fi
  done
  return 1
}

etcd_peers() { etcd_at "$answering" "$@"; }

# members_well [addresses]: every member, or those, answers with a quorum. `etcdctl endpoint health` would fail during an
# alarm, which maintenance is to end (etcd-io/etcd: etcdctl/ctlv3/command/ep_command.go).
members_well() {
  local address
  for address in ${1:-$MEMBER_ADDRESSES}; do
    etcd_at "https://$address:2379" get health >/dev/null 2>"$scratch/health" || return 1
  done
}

# member_up: this machine's member has started, be it without a quorum; until the first one it serves no client.
member_up() { curl --silent --fail --max-time 5 http://127.0.0.1:2381/livez >/dev/null; }

free_on() { df --output=avail --block-size 1 "$1" | tail -n 1; }

# halt <seconds> <component...>: ends the containers of those static pods, by force after so many seconds; a kubelet that
# runs and has their manifests starts them anew. Taking a manifest away would not do: a kubelet that has not reached its
# API since its start removes no pod (kubernetes: pkg/kubelet/kubelet.go, deletePod). A call for each, since crictl stops
# one after the other (cri-tools: cmd/crictl/container.go, stopContainerCommand).
halt() {
  local seconds=$1 IFS='|'
  shift
  timeout --foreground 30 crictl ps --quiet --label io.kubernetes.pod.namespace=kube-system --name "^($*)\$" |
    xargs --no-run-if-empty --max-args 1 --max-procs 0 timeout --foreground "$((seconds + 30))" crictl stop --timeout "$seconds" >/dev/null
}

# own_slot: waits for this machine's time slot, so that two members are never away at the same time.
own_slot() {
  local machines period
  machines=$(wc -w <<<"$MEMBER_ADDRESSES")
  if ((machines == 1)); then return 0; fi
  period=$((machines * TURN_SECONDS))
  sleep "$(((${ETCD_NAME##*-} * TURN_SECONDS - $(date +%s) % period + period) % period))"
}

# own_turn <addresses>: waits for the slot and then for those members to be well. Fails when one is not.
own_turn() {
  own_slot
  retry 6 5 members_well "$1" || { log "error: a member of etcd is not well: $(tail -n 1 "$scratch/health")"; return 1; }
}

# member_with <peer URL>: id, name, client URLs, learner of that member, separated by tabs, `-` for what is empty.
member_with() {
  awk -F ', *' -v url="$1" -v OFS='\t' '
    $4 == url { print $1, ($3 == "" ? "-" : $3), ($5 == "" ? "-" : $5), $NF }' <<<"$members"
}

# members_for <own id>: the list for `initial-cluster`, in which this machine's member has its own name.
members_for() {
  awk -F ', *' -v id="$1" -v name="$ETCD_NAME" '
    { list = list (list == "" ? "" : ",") ($1 == id ? name : $3) "=" $4 }
    END { print list }' <<<"$members"
}
