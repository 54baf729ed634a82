#!/usr/bin/env bash
# shellcheck disable=SC2034 # variables are used by the scripts that source this file
# Queries of the control plane's jobs to the cluster. Sourced after lib.sh. Whatever a node or the holder of a join secret can write is hostile:
# it is matched against a strict pattern before a shell or a cloud sees it.

admin() { kube admin "$@"; }

# leads: of the control-plane machines only one acts, the one whose controller-manager is the leader. The lease contains the kernel's host name
# (kubernetes/kubernetes, cmd/kube-controller-manager/app/controllermanager.go: os.Hostname), which may differ from the node's name.
leads() {
  local holder
  holder=$(admin --namespace kube-system get lease kube-controller-manager --output 'jsonpath={.spec.holderIdentity}') || return 1
  [[ ${holder%_*} == "$(uname -n)" ]]
}

# Nodes whose machines were returned to the cloud, with the time in seconds, and nodes that an operator wants to keep: a ConfigMap that no node
# may write.
replaced=(--namespace kube-system configmap fenestra-replaced)
