#!/usr/bin/env bash
# Takes a snapshot of etcd and sends it away by the machine's identity. Keeps the newest SNAPSHOT_KEEP of this member.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=etcd.sh
. /opt/fenestra/etcd.sh

umask 077
# The data volume has room beside the database, which takes half of it at most.
work=$(mktemp -d "$ETCD_MOUNT/snapshot.XXXXXX")
trap 'rm -rf "$work"' EXIT

etcd_at https://127.0.0.1:2379 --command-timeout 120s snapshot save "$work/snapshot.db" >/dev/null
gzip "$work/snapshot.db"
name=$CLUSTER/$ETCD_NAME/$(date -u +%Y-%m-%dT%H-%M-%SZ).db.gz
send() { FETCH_TIMEOUT=600 blob_put "$work/snapshot.db.gz" "$name"; }
retry 5 5 send || die "the snapshot cannot be sent to $SNAPSHOT_TARGET"
log "sent $name"

blob_list "$CLUSTER/$ETCD_NAME/" | head --lines "-$SNAPSHOT_KEEP" | while read -r old; do
  blob_delete "$old"
done
