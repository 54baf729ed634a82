#!/usr/bin/env bash
# Backs up the previous machine's data on the volume before this machine's etcd, perhaps of another release, touches it.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

if [[ -z ${SNAPSHOT_TARGET:-} || ! -e $ETCD_DATA/member/snap/db || -e /etc/kubernetes/manifests/etcd.yaml ]]; then exit 0; fi
# A control plane that is down because its backup failed would be worse than none.
/opt/fenestra/etcd-snapshot.sh --before-start || log "warning: the data of the machine before was not backed up"
