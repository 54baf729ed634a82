#!/usr/bin/env bash
# Leaf certificates and kubeconfigs from the authorities. A repeat creates new ones: kubeadm refuses those whose names no longer match.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

pki=/etc/kubernetes/pki
fill /etc/fenestra/kubeadm.yaml 0600 /etc/kubernetes/kubeadm.yaml NODE_NAME
rm -f "$pki"/apiserver*.{crt,key} "$pki"/front-proxy-client.{crt,key} "$pki"/etcd/{server,peer,healthcheck-client}.{crt,key}
rm -f /etc/kubernetes/{admin,super-admin,kubelet,controller-manager,scheduler}.conf
kubeadm init phase certs all --config /etc/kubernetes/kubeadm.yaml
kubeadm init phase kubeconfig all --config /etc/kubernetes/kubeadm.yaml
