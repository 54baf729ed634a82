#!/usr/bin/env bash
# Frees the space of removed revisions in this member's database, and fails while etcd has raised an alarm. Where etcd has no room to write
# (NOSPACE), it removes old revisions first, and ends the alarm once every member has room again.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=etcd.sh
. /opt/fenestra/etcd.sh

local_etcd() { etcd_at https://127.0.0.1:2379 "$@"; }
# numbers <key>: that numeric field of each member's status.
numbers() { grep -o "\"$1\":[0-9]*" <<<"$status" | cut -d: -f2; }

alarms=$(local_etcd alarm list)
[[ $alarms != *CORRUPT* ]] || die "members of etcd hold different data: $alarms"
status=$(local_etcd endpoint status --write-out json)
{ size=$(numbers dbSize) && used=$(numbers dbSizeInUse); } || die "etcd's status cannot be read: ${status:0:80}"
full=0
if [[ $alarms == *NOSPACE* ]]; then
  full=1
  # The API server cannot do it: its compaction begins with a write (kubernetes:
  # apiserver/pkg/storage/etcd3/compact.go). Another machine may have.
  local_etcd --command-timeout 300s compaction --physical "$(numbers revision)" >/dev/null 2>"$scratch/compaction" ||
    grep -q 'has been compacted' "$scratch/compaction" || die "old revisions cannot be removed: $(tail -n 1 "$scratch/compaction")"
  # The cluster stands still meanwhile, so a turn is no longer than a defragmentation may take.
  TURN_SECONDS=$DEFRAG_SECONDS
fi
# The member does not respond meanwhile, so it runs only when enough space would be freed, or there is none.
if ((full || (size > DEFRAG_BYTES && used * 2 < size))); then
  own_turn "$MEMBER_ADDRESSES" || die "etcd is not defragmented now"
  local_etcd --command-timeout "${DEFRAG_SECONDS}s" defrag >/dev/null
  log "etcd's database had $size bytes, of which $used were in use"
fi
if ((full)); then
  status=$(local_etcd endpoint status --cluster --write-out json) || die "a member of etcd does not answer, so the alarm stays"
  alarms=$(local_etcd alarm list)
  # The alarm stays unless each member says its size. The quota counts the file's. Disarming ends all alarms, and a database that is nearly full would raise this one
  # again.
  if [[ $alarms != *CORRUPT* ]] && paste <(numbers dbSize) <(numbers dbSizeQuota) |
    awk -v members="$(wc -w <<<"$MEMBER_ADDRESSES")" '$1 > 0 && $1 < 0.9 * $2 { room++ } END { exit room != members }'; then
    local_etcd alarm disarm >/dev/null
    log "warning: etcd was full; it has room again and takes writes"
  fi
fi
alarms=$(local_etcd alarm list)
[[ -z $alarms ]] || die "etcd has raised an alarm and may refuse to write: $alarms"
