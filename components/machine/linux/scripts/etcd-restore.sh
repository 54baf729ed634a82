#!/usr/bin/env bash
# Starts the cluster over from a snapshot. Usage: etcd-restore.sh [name], as `etcd-restore.sh --list` shows them; default the newest that a running
# member took. Run it with the same name on every control-plane machine, after `etcd-restore.sh --stop` on all of them: each restores its own
# member of the same new cluster. Writes since the snapshot are lost.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh

manifests=/etc/kubernetes/manifests
stopped=/etc/kubernetes/stopped

# The kubelet stops pods whose manifest is gone. Was it restarted a second ago, it may still wait for their volumes, which it has forgotten with the
# manifests, for up to two minutes (kubernetes: pkg/kubelet/volumemanager/volume_manager.go, podAttachAndMountTimeout); then come 30 s of grace.
stop() {
  install -d -m 0755 "$stopped"
  for name in kube-apiserver kube-controller-manager kube-scheduler etcd; do
    if [[ -e $manifests/$name.yaml ]]; then mv "$manifests/$name.yaml" "$stopped/"; fi
  done
  quiet() { ! local_api /livez >/dev/null 2>&1 && ! curl --silent --max-time 2 http://127.0.0.1:2381/health >/dev/null; }
  poll 240 quiet || die "the control plane on this machine does not stop"
}

# start: lets the kubelet have again what `stop` took.
start() {
  local manifest
  for manifest in "$stopped"/*.yaml; do
    if [[ -e $manifest ]]; then mv -f "$manifest" "$manifests/"; fi
  done
}

case ${1:-} in
  --list)
    blob_list "$CLUSTER/"
    exit 0
    ;;
  --stop)
    stop
    exit 0
    ;;
  --start)
    start
    log "the control plane on this machine starts with the data that is there"
    exit 0
    ;;
esac

# Names end with the time, so the newest of all members is the last by that part. A copy from before a start has the time of the copy: the database
# may be of a member that had been away for days.
snapshot=${1:-$(blob_list "$CLUSTER/" | awk -F / '!/-before-start\.db\.gz$/ { print $NF, $0 }' | sort | tail -n 1 | cut -d' ' -f2)}
[[ -n $snapshot ]] || die "there is no snapshot in $SNAPSHOT_TARGET; a copy from before a start is only restored by its name, see --list"

umask 077
exec 9>"$scratch/snapshots.lock"
flock 9
# The bootstrap of a machine that waits for data checks the same folder.
systemctl stop fenestra-bootstrap.service
work=$state/restore
data=$(mktemp -d "$ETCD_MOUNT/restore.XXXXXX")
# Everything is fetched, checked and unpacked before anything is stopped; what fails after that starts again with the data that was there.
aside=
was=$(ls "$stopped" 2>/dev/null || true)
leave() {
  rm -rf "$work" "$data"
  # Also between the two moves: the old data goes back.
  if [[ ! -e $ETCD_DATA/member && -n $aside && -e $aside ]]; then mv "$aside" "$ETCD_DATA/member"; fi
  if [[ -z $was ]]; then start; fi
  systemctl start --no-block fenestra-bootstrap.service
}
trap leave EXIT
rm -rf "$work"
mkdir "$work"
FETCH_TIMEOUT=600 blob_get "$snapshot" "$work/snapshot.db.gz"
free_on() { df --output=avail --block-size 1 "$1" | tail -n 1; }
# A database unpacks to a multiple of this, and the system needs room too.
(($(free_on "$work") > 10 * $(stat --format %s "$work/snapshot.db.gz"))) || die "the system disk has no room to unpack $snapshot"
gunzip "$work/snapshot.db.gz"
size=$(stat --format %s "$work/snapshot.db")
free=$(free_on "$ETCD_MOUNT")
# The database, and the log that etcd preallocates next to it.
((free > size + 2 ** 28)) ||
  die "$ETCD_MOUNT has $free free bytes for $size; remove before-restore.* of earlier restores, or $ETCD_DATA/member if it is of no use"
# A plain copy of the database file has no hash at its end (etcd-io/etcd: etcdutl/snapshot/v3_snapshot.go, hasChecksum).
options=()
if ((size % 512 == 0)); then options+=(--skip-hash-check); fi
# A revision far ahead makes every watch start over instead of seeing time run backwards. A new token gives the cluster a new id, so that an old
# member that was not stopped is kept out.
etcdutl snapshot restore "$work/snapshot.db" "${options[@]}" --data-dir "$data/etcd" --name "$ETCD_NAME" \
  --initial-cluster "$ETCD_ALL_MEMBERS" --initial-advertise-peer-urls "https://$MEMBER_ADDRESS:2380" \
  --initial-cluster-token "$snapshot" --bump-revision 1000000000 --mark-compacted
stop
if [[ -e $ETCD_DATA/member ]]; then
  aside=$ETCD_MOUNT/before-restore.$(date -u +%s)
  mv "$ETCD_DATA/member" "$aside"
fi
mv "$data/etcd/member" "$ETCD_DATA/member"

shopt -s nullglob
files=("$stopped"/*.yaml)
if ((${#files[@]} > 0)); then
  start
  # The data may be from before this machine joined, and a kubelet registers its node once in its life (kubernetes: pkg/kubelet/
  # kubelet_node_status.go, registrationCompleted). The bootstrap labels the new node.
  rm -f "$state/done/node"
  systemctl restart kubelet.service
  log "restored $snapshot; the members find each other once a majority of the machines is done"
else
  log "restored $snapshot; this machine has waited for data, and its bootstrap goes on by itself"
fi
log "Pulumi still believes in what was made since the snapshot: run pulumi up --refresh when the API answers"
