#!/usr/bin/env bash
# Gives back the room that removed revisions have left in the database of this member, and fails while etcd has raised an alarm.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=etcd.sh
. /opt/fenestra/etcd.sh

local_etcd() { etcd_at https://127.0.0.1:2379 "$@"; }
status=$(local_etcd endpoint status --write-out json)
# number <key>: of the status.
number() { grep -o "\"$1\":[0-9]*" <<<"$status" | head -n 1 | cut -d: -f2; }
size=$(number dbSize)
used=$(number dbSizeInUse)
# The member answers nobody meanwhile, so it is done only where it is worth it.
if ((size > DEFRAG_BYTES && used * 2 < size)); then
  own_turn || die "etcd is not defragmented now"
  local_etcd --command-timeout 300s defrag >/dev/null
  log "etcd's database had $size bytes, of which $used were in use"
fi
alarms=$(local_etcd alarm list)
[[ -z $alarms ]] || die "etcd has raised an alarm and may refuse to write: $alarms"
