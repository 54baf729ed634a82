#!/usr/bin/env bash
# Takes a snapshot of etcd, uploads it with the machine's identity and records it in the cluster. The object store removes old ones. With
# --before-start it copies the previous machine's data while etcd does not run yet: the way back from an upgrade.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=etcd.sh
. /opt/fenestra/etcd.sh

exec 9>"$scratch/snapshots.lock"
flock 9
umask 077
# On the system disk: a full data volume stops etcd.
work=$state/snapshot
database=$ETCD_DATA/member/snap/db
# Leftovers of an interrupted run, on the data volume too: version 0.1 worked there.
rm -rf "$work" "$ETCD_MOUNT"/{snapshot,restore}.??????
mkdir "$work"
trap 'rm -rf "$work"' EXIT

size=$(stat --format %s "$database")
free=$(free_on "$work")
# The copy, its compressed form, and a gibibyte for everything else.
((free > 2 * size + 2 ** 30)) || die "there is no room for a snapshot: the database has $size bytes, the system disk $free free ones"

time=$(date -u +%Y-%m-%dT%H-%M-%SZ)
if [[ ${1:-} == --before-start ]]; then
  gzip --fast --stdout "$database" >"$work/snapshot.db.gz"
  name=$CLUSTER/$ETCD_NAME/$time-before-start.db.gz
else
  # A member gives its data without a quorum too, however old; under the time of now it would be the newest of all.
  retry 3 5 etcd_at https://127.0.0.1:2379 get health >/dev/null || die "this member has no quorum, so its data may be old; nothing is sent"
  etcd_at https://127.0.0.1:2379 --command-timeout 600s snapshot save "$work/snapshot.db" >/dev/null
  # Good ones go by their age, and a restore takes the newest. Behind the pages is their hash; etcd's own file may have
  # 16 MiB more than they need (etcd-io/bbolt: DB.AllocSize).
  pages=$(etcdutl snapshot status "$work/snapshot.db" --write-out json | grep -o '"totalSize":[0-9]*' | cut -d: -f2) || pages=0
  ((pages && pages + 2 ** 25 > size && $(stat --format %s "$work/snapshot.db") == pages + 32)) ||
    die "etcd has given no whole snapshot of its $size bytes; nothing is sent"
  gzip --fast "$work/snapshot.db"
  name=$CLUSTER/$ETCD_NAME/$time.db.gz
fi
bytes=$(stat --format %s "$work/snapshot.db.gz")
send() { FETCH_TIMEOUT=600 blob_put "$work/snapshot.db.gz" "$name"; }
retry 5 5 send || die "the snapshot cannot be sent to $SNAPSHOT_TARGET"
log "sent $name, $bytes bytes"
if [[ ${1:-} == --before-start ]]; then exit 0; fi

# `fenestra verify` and monitoring check the age of the last good one: a failing backup is silent.
{
  printf '# TYPE fenestra_etcd_snapshot_timestamp_seconds gauge\nfenestra_etcd_snapshot_timestamp_seconds %s\n' "$(date +%s)"
  printf '# TYPE fenestra_etcd_snapshot_bytes gauge\nfenestra_etcd_snapshot_bytes %s\n' "$bytes"
} | put 0644 "$state/metrics/etcd-snapshot.prom"
record() {
  printf '%s\n' 'apiVersion: v1' 'kind: ConfigMap' 'metadata:' '  name: fenestra-etcd-snapshots' '  namespace: kube-system' 'data:' \
    "  $ETCD_NAME: '$(date -u +%Y-%m-%dT%H:%M:%SZ) $name $bytes'" |
    kube admin apply --server-side --force-conflicts --field-manager "fenestra-$ETCD_NAME" \
      --filename - >/dev/null
}
retry 5 5 record || die "the snapshot is sent, but the cluster cannot be told of it"
