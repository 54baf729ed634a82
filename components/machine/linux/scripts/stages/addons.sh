#!/usr/bin/env bash
# CoreDNS and kube-proxy, once every API server has this version: a proxy must not be newer than the server it talks to.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

# The version is nothing that the API server tells without credentials.
upgraded() {
  local address
  for address in $MEMBER_ADDRESSES; do
    [[ $(kubectl --kubeconfig /etc/kubernetes/admin.conf --server "https://$address:$API_PORT" --request-timeout 5s get --raw /version |
      json_text gitVersion) == "v$KUBERNETES_VERSION" ]] || return 1
  done
}
poll "$ADDON_ATTEMPTS" upgraded || die "not every API server has version $KUBERNETES_VERSION yet; the add-ons wait"
for addon in coredns kube-proxy; do
  retry 5 2 kubeadm init phase addon "$addon" --config /etc/kubernetes/kubeadm.yaml --kubeconfig /etc/kubernetes/admin.conf
done
