#!/usr/bin/env bash
# Determines this machine's identity from the cloud. Runs at each boot: an image of a running machine must not keep the identity of its origin.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

before=${PROVIDER_ID:-}

known() {
  cloud_identity && [[ -n $NODE_NAME && -n $PROVIDER_ID && -n $NODE_IP ]]
}

retry "$METADATA_ATTEMPTS" 1 known || die "the metadata service does not tell who this machine is"
if [[ -n ${MEMBER_ADDRESS:-} && $NODE_IP != "$MEMBER_ADDRESS" ]]; then
  die "this machine has the address $NODE_IP, but its etcd member has $MEMBER_ADDRESS"
fi
# The disk of a machine created from another one's image: it must not join under the other's name.
if [[ -n $before && $before != "$PROVIDER_ID" ]]; then
  log "this disk was that of $before; what belongs to that machine is done again"
  rm -rf "${state:?}"/done/* /var/lib/kubelet/pki /etc/kubernetes/kubelet.conf /etc/kubernetes/bootstrap-kubelet.conf
fi
printf 'NODE_NAME=%q\nPROVIDER_ID=%q\nNODE_IP=%q\n' "$NODE_NAME" "$PROVIDER_ID" "$NODE_IP" | put 0644 "$state/identity.env"
log "this is $NODE_NAME at $NODE_IP ($PROVIDER_ID)"
