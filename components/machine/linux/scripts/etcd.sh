#!/usr/bin/env bash
# Asking etcd's members. Sourced after lib.sh.
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

# ask_peers: finds a peer that answers with a quorum and keeps the list of members. Fails when there is none.
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
