#!/usr/bin/env bash
# CoreDNS and kube-proxy, once no API server is older: a proxy must not be newer than the server it talks to. An API server that does not
# respond is not waited for, since it may be down for long, and comes back with this version.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

admin() { KUBE_SECONDS=5 kube admin "$@"; }

upgraded() {
  local address version oldest
  for address in $MEMBER_ADDRESSES; do
    version=$(admin --server "https://$address:$API_PORT" get --raw /version 2>"$scratch/version" | json_text gitVersion) || continue
    oldest=$(printf '%s\n' "$version" "v$KUBERNETES_VERSION" | sort --version-sort | head -n 1)
    [[ $oldest == "v$KUBERNETES_VERSION" ]] || return 1
  done
}
poll "$ADDON_ATTEMPTS" upgraded || die "an API server is older than $KUBERNETES_VERSION; the add-ons wait"
addon() { kubeadm init phase addon "$1" --config /etc/kubernetes/kubeadm.yaml --kubeconfig /etc/kubernetes/admin.conf; }
# kubeadm judges what is there of CoreDNS, and of kube-proxy nothing.
retry 5 2 addon kube-proxy

# known_image: kubeadm refuses a CoreDNS of a version that it does not know (kubernetes:
# cmd/kubeadm/app/phases/addons/dns, isCoreDNSConfigMapMigrationRequired). The manual promises its own.
known_image() {
  local image
  image=$(kubeadm config images list --config /etc/kubernetes/kubeadm.yaml | grep /coredns:) || return 1
  log "warning: kubeadm refuses the CoreDNS that is there; it gets $image"
  admin --namespace kube-system set image deployment/coredns "coredns=$image" >/dev/null
}
retry 2 2 addon coredns || { known_image && retry 5 2 addon coredns; } || die "CoreDNS stays as it is: docs/operations/debugging.md"
