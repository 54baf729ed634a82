#!/usr/bin/env bash
# Renews the control plane's leaf certificates when they are valid for less than RENEW_DAYS, and warns before an authority expires.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=etcd.sh
. /opt/fenestra/etcd.sh

pki=/etc/kubernetes/pki
status=0
for authority in "$pki/ca.crt" "$pki/etcd/ca.crt" "$pki/front-proxy-ca.crt"; do
  if ! openssl x509 -in "$authority" -noout -checkend "$((CA_WARNING_DAYS * 86400))" >/dev/null; then
    log "warning: the authority in $authority runs out on $(openssl x509 -in "$authority" -noout -enddate | cut -d= -f2)"
    status=1
  fi
done

# An interrupted run leaves this marker, and a manifest moved aside.
begun=$state/renewing
aside=/etc/kubernetes/renewing
if [[ ! -e $begun ]] && openssl x509 -in "$pki/apiserver.crt" -noout -checkend "$((RENEW_DAYS * 86400))" >/dev/null; then
  exit "$status"
fi

# One machine at a time, and only while all members are healthy: etcd must not lose its majority. A machine that has started continues.
[[ -e $begun ]] || own_turn || die "the certificates are not renewed now"
touch "$begun"
retry 3 5 kubeadm certs renew all --config /etc/kubernetes/kubeadm.yaml

# Static pods read their certificates when they start. The kubelet stops a pod whose manifest is gone and starts it when it is back.
install -d -m 0700 "$aside"
for name in etcd kube-apiserver kube-controller-manager kube-scheduler; do
  manifest=/etc/kubernetes/manifests/$name.yaml
  if [[ ! -e $aside/$name.yaml ]]; then mv "$manifest" "$aside/"; fi
  sleep "$RESTART_PAUSE"
  mv "$aside/$name.yaml" "$manifest"
  if [[ $name == etcd ]]; then poll "$READY_ATTEMPTS" members_well || die "etcd does not come back with its new certificate"; fi
done
poll "$READY_ATTEMPTS" local_api /readyz >/dev/null || die "the API server does not come back with its new certificate"
rm -f "$begun"
log "renewed the certificates of the control plane"
exit "$status"
