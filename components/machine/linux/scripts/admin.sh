#!/usr/bin/env bash
# shellcheck disable=SC2034 # variables are used by the scripts that source this file
# What the jobs of the control plane ask of the cluster. Sourced after lib.sh. Whatever a node or the holder of a join secret can write is
# hostile: it is matched against a strict pattern before a shell or a cloud sees it.

admin() { kubectl --kubeconfig /etc/kubernetes/admin.conf "$@"; }

# leads: of the control-plane machines one acts, that whose controller-manager leads. Its lease names the host as the kernel does
# (kubernetes/kubernetes, cmd/kube-controller-manager/app/controllermanager.go: os.Hostname), which need not be the name of the node.
leads() {
  local holder
  holder=$(admin --namespace kube-system get lease kube-controller-manager --output 'jsonpath={.spec.holderIdentity}') || return 1
  [[ ${holder%_*} == "$(uname -n)" ]]
}

# Nodes whose machines were given back to the cloud, with the time in seconds, and those that a person wants to keep: a ConfigMap that no
# node may write.
replaced=(--namespace kube-system configmap fenestra-replaced)
