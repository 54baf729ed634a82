#!/usr/bin/env bash
# Keeps what the machine before has left on the volume, before etcd of this machine, maybe of another release, touches it.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

if [[ -z ${SNAPSHOT_TARGET:-} || ! -e $ETCD_DATA/member/snap/db || -e /etc/kubernetes/manifests/etcd.yaml ]]; then exit 0; fi
# A control plane that is away for want of a backup would be worse than none.
/opt/fenestra/etcd-snapshot.sh --before-start || log "warning: the data of the machine before was not backed up"
