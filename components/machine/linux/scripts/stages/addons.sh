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
for addon in coredns kube-proxy; do
  retry 5 2 kubeadm init phase addon "$addon" --config /etc/kubernetes/kubeadm.yaml --kubeconfig /etc/kubernetes/admin.conf
done
