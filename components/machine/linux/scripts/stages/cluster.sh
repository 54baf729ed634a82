#!/usr/bin/env bash
# What kubeadm keeps in the cluster. Several machines may do this at once.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

admin=(--config /etc/kubernetes/kubeadm.yaml --kubeconfig /etc/kubernetes/super-admin.conf)

# kubeadm makes this binding only when it uses admin.conf itself (kubernetes/kubeadm: kubeadm init, EnsureAdminClusterRoleBinding).
binding() { kubectl --kubeconfig /etc/kubernetes/super-admin.conf apply --server-side --filename /etc/fenestra/admin-binding.yaml; }
retry 10 1 binding
retry 5 2 kubeadm init phase upload-config all "${admin[@]}"
retry 5 2 kubeadm init phase bootstrap-token "${admin[@]}" --skip-token-print
