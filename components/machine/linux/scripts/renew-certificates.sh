#!/usr/bin/env bash
# Renews the control plane's leaf certificates when they are valid for less than RENEW_DAYS, and warns before an authority expires.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=etcd.sh
. /opt/fenestra/etcd.sh

pki=/etc/kubernetes/pki
# The timer's run and one by hand.
exec 9>"$scratch/renewal.lock"
flock 9
status=0
for authority in "$pki/ca.crt" "$pki/etcd/ca.crt" "$pki/front-proxy-ca.crt"; do
  if ! openssl x509 -in "$authority" -noout -checkend "$((CA_WARNING_DAYS * 86400))" >/dev/null; then
    log "warning: the authority in $authority runs out on $(openssl x509 -in "$authority" -noout -enddate | cut -d= -f2)"
    status=1
  fi
done

# A kubelet renews by the certificate that it has: nobody gives it one when the machine was off until that ended
# (kubernetes: pkg/kubelet/certificate/transport.go). What is removed last says that this is still to be done.
own=/var/lib/kubelet/pki/kubelet-client-current.pem
if [[ -e $own ]] && ! openssl x509 -in "$own" -noout -checkend 0 >/dev/null; then
  rm -f /etc/kubernetes/kubelet.conf "$state/done/node"
  kubeadm init phase kubeconfig kubelet --config /etc/kubernetes/kubeadm.yaml
  rm -f "$own"
  systemctl restart kubelet.service
  log "the kubelet's certificate had ended; it has another one"
fi

# valid <seconds>: whether what others see of this machine is valid for that long.
valid() {
  local name
  for name in apiserver etcd/server; do openssl x509 -in "$pki/$name.crt" -noout -checkend "$1" >/dev/null || return 1; done
}

# ends: of each certificate that kubeadm renews the second at which it ends; 0 of what cannot be read.
ends() {
  local file end
  for file in "$pki"/{apiserver{,-etcd-client,-kubelet-client},front-proxy-client,etcd/{server,peer,healthcheck-client}}.crt \
    /etc/kubernetes/{admin,controller-manager,scheduler}.conf; do
    # No pipe: openssl stops reading behind the first one.
    end=$(openssl x509 -noout -enddate 2>/dev/null \
      < <({ awk '$1 == "client-certificate-data:" { print $2 }' "$file" | base64 --decode; cat "$file"; } 2>/dev/null)) || end=
    if [[ -n $end ]]; then date -d "${end#*=}" +%s; else echo 0; fi
  done
}

# containers <component> [--all] [ids]: ids of those that run, or of all, but for these. Fails when there are none, and on
# what is no id.
containers() {
  local ids
  ids=$(timeout --foreground 30 crictl ps --quiet ${2:+"$2"} --label io.kubernetes.pod.namespace=kube-system --name "^$1\$") || return 1
  has_form "${ids//$'\n'/}" '[0-9a-f]+' && grep -vxF "${3:-none}" <<<"$ids"
}

# An interrupted run leaves this marker, which says how to go on.
begun=$state/renewing
how=$(cat "$begun" 2>/dev/null) || true
# A marker that says nothing is none: an empty one would be taken for this machine's turn.
if [[ $how != urgent ]]; then
  # One machine at a time, and only while all members are well: etcd must not lose its majority. With an expired
  # certificate none is. Where it goes on, its own may be away.
  of=$PEER_ADDRESSES
  if [[ $how != careful ]]; then
    if valid "$((RENEW_DAYS * 86400))"; then exit "$status"; fi
    how=careful
    of=$MEMBER_ADDRESSES
  fi
  # A minute without the API, should another member be away, beats an outage without end. A single member has no
  # majority to lose.
  if ! valid "$((URGENT_DAYS * 86400))" || [[ $MEMBER_ADDRESSES != *' '* ]]; then how=urgent; fi
  { valid 0 && own_turn "$of"; } || [[ $how == urgent ]] || die "the certificates are not renewed now"
  printf '%s\n' "$how" | put 0600 "$begun"
fi
ended=$(ends)
retry 3 5 kubeadm certs renew all --config /etc/kubernetes/kubeadm.yaml
paste <(ends) - <<<"$ended" | awk '$1 <= $2 { exit 1 }' || die "kubeadm has left certificates that end no later; nothing is restarted"

# In urgency the other members may have expired.
back=members_well
if [[ $how == urgent ]]; then back=member_up; fi
# Static pods read their certificates when they start.
for name in etcd kube-apiserver kube-controller-manager kube-scheduler; do
  ids=$(containers "$name" --all) || die "crictl lists no container of $name"
  { halt 30 "$name" && poll "$READY_ATTEMPTS" containers "$name" "" "$ids" >/dev/null; } || die "$name does not start anew"
  if [[ $name == etcd ]]; then poll "$READY_ATTEMPTS" "$back" || die "etcd does not come back with its new certificate"; fi
done
# Before the API server is waited for: it may need a majority that has not been renewed yet, and nothing is left to
# repeat.
rm -f "$begun"
poll "$READY_ATTEMPTS" local_api /readyz >/dev/null || die "the API server does not come back with its new certificate"
log "renewed the certificates of the control plane"
exit "$status"
