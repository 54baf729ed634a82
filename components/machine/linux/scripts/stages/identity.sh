#!/usr/bin/env bash
# Determines this machine's identity from the cloud. Runs at each boot: an image of a running machine must not keep the identity of its
# origin.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

before=${PROVIDER_ID:-}

known() {
  cloud_identity && [[ -n $NODE_NAME && -n $PROVIDER_ID && -n $NODE_IP ]]
}

# again: a second answer names the same machine.
again() {
  local first=$PROVIDER_ID
  sleep 2
  known && [[ $PROVIDER_ID == "$first" ]]
}

retry "$METADATA_ATTEMPTS" 1 known || die "the metadata service does not tell who this machine is"
if [[ -n ${MEMBER_ADDRESS:-} && $NODE_IP != "$MEMBER_ADDRESS" ]]; then
  die "this machine has the address $NODE_IP, but its etcd member has $MEMBER_ADDRESS"
fi
# The disk of a machine created from another one's image: it must not join under the other's name.
if [[ -n $before && ${before,,} != "${PROVIDER_ID,,}" ]]; then
  again || die "the metadata service names one machine and then another"
  log "this disk was that of $before; what belongs to that machine is done again"
  # The image has started it as that machine's node.
  systemctl stop kubelet.service
  rm -rf "${state:?}"/done/* /var/lib/kubelet/pki /etc/kubernetes/kubelet.conf /etc/kubernetes/bootstrap-kubelet.conf /var/lib/cni
fi
printf 'NODE_NAME=%s\nPROVIDER_ID=%s\nNODE_IP=%s\n' "$NODE_NAME" "$PROVIDER_ID" "$NODE_IP" | put 0644 "$state/identity.env"
log "this is $NODE_NAME at $NODE_IP ($PROVIDER_ID)"
