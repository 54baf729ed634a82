#!/usr/bin/env bash
# What kubeadm keeps in the cluster. Several machines may do this at once.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

admin=(--config /etc/kubernetes/kubeadm.yaml --kubeconfig /etc/kubernetes/super-admin.conf)

# A repeat of this stage, which removes it at last: nothing takes its rights away.
[[ -e /etc/kubernetes/super-admin.conf ]] || kubeadm init phase kubeconfig super-admin --config /etc/kubernetes/kubeadm.yaml

# kubeadm creates the first of these bindings only when it uses admin.conf itself (kubernetes/kubeadm: kubeadm init,
# EnsureAdminClusterRoleBinding).
bindings() { kube super-admin apply --server-side --filename /etc/fenestra/bindings.yaml; }
retry 10 1 bindings
retry 5 2 kubeadm init phase upload-config all "${admin[@]}"
retry 5 2 kubeadm init phase bootstrap-token "${admin[@]}" --skip-token-print
# Renewals are the node controller's, who asks the cloud for each: kubeadm has just made these bindings, with which
# nobody asks.
unbind() {
  kube super-admin delete clusterrolebinding --ignore-not-found \
    kubeadm:node-autoapprove-bootstrap kubeadm:node-autoapprove-certificate-rotation >/dev/null
}
retry 5 2 unbind
# `kubeadm upgrade`, `join` and `reset` would apply one machine's values to all of them.
note() {
  kube super-admin --namespace kube-system annotate configmap kubeadm-config --overwrite \
    "fenestra.dev/note=Each control-plane machine writes its own configuration here. Do not run kubeadm upgrade, join or reset." >/dev/null
}
retry 5 2 note
rm -f /etc/kubernetes/super-admin.conf
