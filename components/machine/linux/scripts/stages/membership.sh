#!/usr/bin/env bash
# Decides how etcd starts on this machine, before its manifest exists, and frees its place among the members.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=../etcd.sh
. /opt/fenestra/etcd.sh

peer_url=https://$MEMBER_ADDRESS:2380

# decided <state> <members> <why>
decided() {
  printf 'ETCD_STATE=%s\nETCD_MEMBERS=%s\n' "$1" "$2" | put 0644 "$state/membership.env"
  log "etcd starts with state $1: $3"
  exit 0
}

if compgen -G "$ETCD_DATA/member/wal/*.wal" >/dev/null; then
  decided existing "$ETCD_ALL_MEMBERS" "the volume holds the data of a member"
fi
# An interrupted start may have left a folder without a log; etcd would use it as its own. If the log is lost and the
# database is not, it may be the last copy of the data (`etcdutl snapshot restore --skip-hash-check` reads it).
if [[ -e $ETCD_DATA/member/snap/db ]]; then
  log "warning: the volume holds a database without its log; it is kept as without-log.*"
  mv "$ETCD_DATA/member" "$ETCD_MOUNT/without-log.$(date -u +%s)"
fi
rm -rf "$ETCD_DATA/member"

if ! ask_peers; then
  status=0
  marker=$(secret_get "$SECRET_INITIALISED") || status=$?
  if ((status != 0 && status != 44)); then die "it cannot be told whether the cluster was ever initialised"; fi
  if ((status == 44)) || [[ $marker != initialised* ]]; then
    decided new "$ETCD_ALL_MEMBERS" "no peer answers and the cluster was never initialised"
  fi
  die "no peer answers with a quorum, the volume is empty, and the cluster was initialised (${marker#initialised }): waiting." \
    "If its data is lost, restore a snapshot with /opt/fenestra/etcd-restore.sh"
fi

own=$(member_with "$peer_url")
if [[ -n $own ]]; then
  IFS=$'\t' read -r id name client_urls learner <<<"$own"
  # The initial members are listed by name before they start; a member added later has no name until then.
  if [[ $client_urls == - && $name != - && $learner == false ]]; then
    decided new "$ETCD_ALL_MEMBERS" "the peers wait for the first start of this member"
  fi
  if [[ $client_urls == - ]]; then decided existing "$(members_for "$id")" "an earlier run has added this member"; fi
  log "member $id has lost its data; it is removed and added again"
  etcd_peers member remove "$id" >/dev/null || die "member $id cannot be removed yet"
fi
etcd_peers member add "$ETCD_NAME" --learner --peer-urls="$peer_url" >/dev/null || die "this member cannot be added yet." \
  "etcd before 3.6.11 adds none while another one is away (etcd-io/etcd#21667): bring that one back first"
ask_peers || die "the peers stopped answering"
own=$(member_with "$peer_url")
[[ -n $own ]] || die "this member was added, but is not listed"
decided existing "$(members_for "${own%%$'\t'*}")" "this member was added as a learner"
