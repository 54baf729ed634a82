#!/usr/bin/env bash
# CoreDNS and kube-proxy, once every API server has this version: a proxy must not be newer than the server it talks to.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

upgraded() {
  local address
  for address in $MEMBER_ADDRESSES; do
    [[ $(curl --silent --fail --max-time 5 --cacert /etc/kubernetes/pki/ca.crt "https://$address:$API_PORT/version" | json_text gitVersion) == \
      "v$KUBERNETES_VERSION" ]] || return 1
  done
}
poll "$ADDON_ATTEMPTS" upgraded || die "not every API server has version $KUBERNETES_VERSION yet; the add-ons wait"
for addon in coredns kube-proxy; do
  retry 5 2 kubeadm init phase addon "$addon" --config /etc/kubernetes/kubeadm.yaml --kubeconfig /etc/kubernetes/admin.conf
done
