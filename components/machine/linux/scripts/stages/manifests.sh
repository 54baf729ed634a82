#!/usr/bin/env bash
# Static pods of etcd and the control plane.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

values "$state/membership.env"
fill /etc/fenestra/kubeadm.yaml 0600 /etc/kubernetes/kubeadm.yaml NODE_NAME ETCD_STATE ETCD_MEMBERS
install -d -m 0700 /var/log/kubernetes/audit
kubeadm init phase etcd local --config /etc/kubernetes/kubeadm.yaml
kubeadm init phase control-plane all --config /etc/kubernetes/kubeadm.yaml
