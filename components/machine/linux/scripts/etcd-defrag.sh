#!/usr/bin/env bash
# Frees the space of removed revisions in this member's database, and fails while etcd has raised an alarm.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=etcd.sh
. /opt/fenestra/etcd.sh

local_etcd() { etcd_at https://127.0.0.1:2379 "$@"; }
status=$(local_etcd endpoint status --write-out json)
# number <key>: numeric field of the status.
number() { grep -o "\"$1\":[0-9]*" <<<"$status" | head -n 1 | cut -d: -f2; }
size=$(number dbSize)
used=$(number dbSizeInUse)
# The member does not respond meanwhile, so it runs only when enough space would be freed.
if ((size > DEFRAG_BYTES && used * 2 < size)); then
  own_turn || die "etcd is not defragmented now"
  local_etcd --command-timeout 300s defrag >/dev/null
  log "etcd's database had $size bytes, of which $used were in use"
fi
alarms=$(local_etcd alarm list)
[[ -z $alarms ]] || die "etcd has raised an alarm and may refuse to write: $alarms"
