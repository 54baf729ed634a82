#!/usr/bin/env bash
# Starts the cluster over from a snapshot; `usage` says how. Writes since the snapshot are lost.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=etcd.sh
. /opt/fenestra/etcd.sh

usage="usage: etcd-restore.sh NAME [2-9] | --newest  restores NAME, or the newest snapshot that a running member took, on this machine
       etcd-restore.sh --list  names of all snapshots and copies from before a start
       etcd-restore.sh --stop | --start  stops the control plane on this machine, or starts it with the data that is there
Run --stop on every control-plane machine, then the restore with the same NAME on every one. What was written since is lost."
manifests=/etc/kubernetes/manifests
stopped=/etc/kubernetes/stopped
work=$state/restore
# An API server goes only once its clients have left or their requests have failed, which takes a minute without etcd
# (kubernetes: apiserver/pkg/server/genericapiserver.go). They are cut off, before etcd is: its data goes anyway.
clients=(kube-apiserver kube-controller-manager kube-scheduler)

# blob_pages <prefix> <element of a name> <element of a marker>: names of the blobs with that prefix; fails after what
# it has printed when a page is missing. A page has at most 1,000 names on AWS and 5,000 on Azure, maybe none although
# more follow (Amazon S3 API Reference, ListObjectsV2; Azure documentation, "Enumerating Blob Resources").
blob_pages() {
  local next='' page=$scratch/list
  while
    answered 200 "listing $1" blob_page "$page" "${1//\//%2F}" "$next" || return 1
    xml_texts "$2" "$page"
    next=$(xml_texts "$3" "$page" | python3 -I -c 'import sys, urllib.parse as u; print(u.quote(sys.stdin.read().strip(), ""))') || return 1
    [[ -n $next ]]
  do :; done
}

# xml_texts <element> <file>: the texts of those elements, a line each; of names and markers nothing is escaped.
xml_texts() { { grep -o "<$1>[^<]*</$1>" "$2" || true; } | sed 's/<[^>]*>//g'; }

# own_bootstrap: ends the bootstrap, which checks the same folders, and lets the next one wait until this script has
# ended, in whatever way: it starts the kubelet again and goes on with what was cut off (stages/volume.sh).
own_bootstrap() {
  systemctl stop fenestra-bootstrap.service
  exec 8>"$scratch/bootstrap.lock"
  flock --timeout 60 8 || die "another bootstrap is at work"
  systemctl start --no-block fenestra-bootstrap.service
}

# answers: whether this machine's API server is there, whatever it says.
answers() { curl --silent --insecure --max-time 5 --output /dev/null "https://127.0.0.1:$API_PORT/livez"; }

kubelet() { [[ ! -e $state/kubelet-started ]] || systemctl "$1" kubelet.service; }

# stop: without the kubelet, which removes no pod while it has not reached its API since its start.
stop() {
  local name
  install -d -m 0755 "$stopped"
  kubelet stop
  for name in "${clients[@]}" etcd; do
    if [[ -e $manifests/$name.yaml ]]; then mv -f "$manifests/$name.yaml" "$stopped/"; fi
  done
  quiet() { ! answers && ! curl --silent --max-time 2 http://127.0.0.1:2381/health >/dev/null; }
  { halt 5 "${clients[@]}" && halt 30 etcd && poll 60 quiet; } || die "the control plane on this machine does not stop"
}

# start: lets the kubelet have again what `stop` took.
start() {
  local manifest
  for manifest in "$stopped"/*.yaml; do
    if [[ -e $manifest ]]; then mv -f "$manifest" "$manifests/"; fi
  done
}

# newest: names end with the time, so that of all members is the last by that part. A copy from before a start has the
# time of the copy: the database may be of a member that had been away for days. A machine's clock may have been ahead.
newest() {
  local name
  name=$(blob_list "$CLUSTER/" | awk -F / '!/-before-start\.db\.gz$/ { print $NF, $0 }' | sort | tail -n 1 | cut -d' ' -f2) || return 1
  [[ ${name##*/} < $(date -u +%Y-%m-%dT%H-%M-%SZ) ]] || die "$name has a time to come: choose one of --list by what is known of the clocks"
  printf '%s\n' "$name"
}

was=
snapshot=$*
case $snapshot in
  --list)
    snapshot=$(blob_list "$CLUSTER/")
    if [[ -n $snapshot ]]; then printf '%s\n' "$snapshot"; else log "there is no snapshot below $CLUSTER/ in $SNAPSHOT_TARGET"; fi
    exit 0
    ;;
  --stop)
    own_bootstrap
    trap 'kubelet start' EXIT
    stop
    exit 0
    ;;
  --start)
    start
    kubelet start
    log "the control plane on this machine starts with the data that is there"
    exit 0
    ;;
  --resume)
    # From the bootstrap, which holds its lock.
    if ! { read -r snapshot && read -r was; } <"$work/next"; then
      start
      rm -rf "$work"
      die "what was to be restored cannot be read"
    fi
    log "a restore was cut off; it goes on: $snapshot"
    ;;
  --newest)
    snapshot=$(newest)
    [[ -n $snapshot ]] || die "there is no snapshot in $SNAPSHOT_TARGET; a copy from before a start is only restored by its name, see --list"
    ;;
  "$CLUSTER"/*/*.db.gz | "$CLUSTER"/*/*.db.gz\ [2-9]) ;;
  *)
    printf '%s\n' "$usage" >&2
    if [[ -z $snapshot ]]; then
      snapshot=$(newest) || snapshot="not known"
      printf 'The newest snapshot: %s\n' "${snapshot:-none}" >&2
    fi
    exit 2
    ;;
esac
if [[ $1 != --resume ]] && answers; then
  die "the API server of this machine answers: run --stop on every control-plane machine first, then restore $snapshot"
fi

umask 077
exec 9>"$scratch/snapshots.lock"
if ! flock --nonblock 9; then
  log "a snapshot is being sent: waiting five minutes at most"
  flock --timeout 300 9 || die "it is still being sent: try again, or lose it by systemctl stop fenestra-{etcd-snapshot,bootstrap}.service"
fi
if [[ $1 != --resume ]]; then
  own_bootstrap
  was=$(ls "$stopped" 2>/dev/null || true)
fi
data=
aside=
# What fails starts again with the data that was there. What is killed goes on by what `next` says: name, and whether it
# was stopped before.
leave() {
  # Also between the two moves: the old data goes back.
  if [[ ! -e $ETCD_DATA/member && -n $aside && -e $aside ]]; then mv "$aside" "$ETCD_DATA/member"; fi
  if [[ -z $was ]]; then start; fi
  rm -rf "$work" "$data"
  kubelet start
}
trap leave EXIT
next() { printf '%s\n%s\n' "$1" "${was:+stopped}" | put 0600 "$work/next"; }

# status_of <database>: what etcd says of it. revision_in <that>: 0 where it says nothing.
status_of() { etcdutl snapshot status "$1" --write-out json; }
revision_in() { { grep -o '"revision":[0-9]*' <<<"$1" || echo :0; } | cut -d: -f2; }

# exchange: puts the snapshot in the data's place. All is fetched, checked and unpacked before anything is stopped.
exchange() {
  local size free status theirs own name ahead seen options=()
  name=${snapshot% [2-9]}
  # The number behind the name, in 10^9.
  ahead=${snapshot#"$name"}
  ahead=${ahead:-1}000000000
  ahead=${ahead# }
  data=$(mktemp -d "$ETCD_MOUNT/restore.XXXXXX")
  rm -rf "$work"
  mkdir "$work"
  FETCH_TIMEOUT=600 blob_get "$name" "$work/snapshot.db.gz"
  # A database unpacks to a multiple of this, and the system needs room too.
  (($(free_on "$work") > 10 * $(stat --format %s "$work/snapshot.db.gz"))) || die "the system disk has no room to unpack $name"
  gunzip "$work/snapshot.db.gz"
  size=$(stat --format %s "$work/snapshot.db")
  free=$(free_on "$ETCD_MOUNT")
  # The database, and the log that etcd preallocates next to it.
  ((free > size + 2 ** 28)) ||
    die "$ETCD_MOUNT has $free free bytes for $size; remove before-restore.* of earlier restores, or $ETCD_DATA/member if it is of no use"
  # This etcd opens no data of a newer minor, and moves that of the minor before on. Data before 3.6 has no version.
  status=$(status_of "$work/snapshot.db") || status=
  theirs=$(sed -n 's/.*"version":"\([0-9]*\.[0-9]*\).*/\1/p' <<<"$status")
  own=$(etcdutl version | sed -n 's/^etcdutl version: \([0-9]*\.[0-9]*\).*/\1/p')
  [[ $(printf '%s\n' "$theirs" "$own" | sort --version-sort | tail -n 1) == "$own" ]] ||
    die "$name is of etcd $theirs, and this machine has $own, which cannot read it: set the Kubernetes version back to the minor of the snapshot, or choose an older one (--list)"
  # A plain copy of the database file has no hash at its end (etcd-io/etcd: etcdutl/snapshot/v3_snapshot.go,
  # hasChecksum).
  if ((size % 512 == 0)); then options+=(--skip-hash-check); fi
  # A revision far ahead makes every watch start over instead of seeing time run backwards. A new token gives the
  # cluster a new id, so that an old member that was not stopped is kept out.
  etcdutl snapshot restore "$work/snapshot.db" "${options[@]}" --data-dir "$data/etcd" --name "$ETCD_NAME" \
    --initial-cluster "$ETCD_ALL_MEMBERS" --initial-advertise-peer-urls "https://$MEMBER_ADDRESS:2380" \
    --initial-cluster-token "$snapshot" --bump-revision "$ahead" --mark-compacted
  next "$snapshot"
  stop
  if [[ -e $ETCD_DATA/member ]]; then
    # A watch from a revision that is still to come hears nothing until then, and no error (tried with Kubernetes 1.37).
    seen=$(($(revision_in "$(status_of "$ETCD_DATA/member/snap/db")") - $(revision_in "$status")))
    ((seen <= ahead)) || die "clients have seen what a restore before began with, $seen revisions after $name: run --stop on" \
      "every machine again, and then \"$name $(((seen + 10 ** 9 - 1) / 10 ** 9))\" on every one"
    aside=$ETCD_MOUNT/before-restore.$(date -u +%s)
    mv "$ETCD_DATA/member" "$aside"
  elif [[ $snapshot == "$name" ]]; then
    log "no data here tells what clients have seen: where no machine has data, and $name was restored before, restore \"$name 2\""
  fi
  mv "$data/etcd/member" "$ETCD_DATA/member"
  # A member that has begun is not exchanged once more.
  next --start
}
if [[ $snapshot != --start ]]; then exchange; fi

if compgen -G "$stopped/*.yaml" >/dev/null; then
  start
  # The data may be from before this machine joined, and a kubelet registers its node once in its life (kubernetes:
  # pkg/kubelet/ kubelet_node_status.go, registrationCompleted). The bootstrap labels the new node.
  rm -f "$state/done/node"
  kubelet restart
  log "restored $snapshot; the members find each other once a majority of the machines is done"
else
  log "restored $snapshot; this machine has waited for data, and its bootstrap goes on by itself"
fi
log "load balancers and disks that were made since the snapshot stay in the cloud without an object: docs/operations/backup.md"
log "Pulumi still believes in what was made since the snapshot: run pulumi up --refresh when the API answers"
