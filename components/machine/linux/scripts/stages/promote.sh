#!/usr/bin/env bash
# Makes a learner a voter as soon as it has caught up.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=../etcd.sh
. /opt/fenestra/etcd.sh
values "$state/membership.env"

if [[ $ETCD_STATE == new || $ETCD_ALL_MEMBERS != *,* ]]; then exit 0; fi

# Fails until this member votes.
promoted() {
  local own id learner
  ask_peers || return 1
  own=$(member_with "https://$MEMBER_ADDRESS:2380")
  [[ -n $own ]] || return 1
  IFS=$'\t' read -r id _ _ learner <<<"$own"
  if [[ $learner == false ]]; then return 0; fi
  etcd_peers member promote "$id" >/dev/null 2>"$scratch/promote"
}
poll "$PROMOTE_ATTEMPTS" promoted || die "this member has not caught up: $(tail -n 1 "$scratch/promote" 2>/dev/null)"
log "this member votes"
