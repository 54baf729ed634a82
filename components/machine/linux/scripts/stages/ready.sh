#!/usr/bin/env bash
# Waits until the API server of this machine is ready, which needs a quorum, and marks the cluster as initialised.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

answers() { local_api /readyz >"$scratch/readyz"; }
poll "$READY_ATTEMPTS" answers || die "the API server on this machine is not ready"
# From here on the kubelet's kubeconfig references the certificate that the kubelet renews. kubeadm starts the kubelet
# anew for that, for which each static pod is unready for seconds: while the next stages are at work.
retry 5 2 kubeadm init phase kubelet-finalize all --config /etc/kubernetes/kubeadm.yaml

status=0
marker=$(secret_get "$SECRET_INITIALISED") || status=$?
if ((status != 0 && status != 44)); then die "the marker of the initialised cluster cannot be read"; fi
if ((status == 44)) || [[ $marker != initialised* ]]; then
  mark() { printf 'initialised %s by %s' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$ETCD_NAME" | secret_put "$SECRET_INITIALISED"; }
  retry 10 1 mark || die "the marker of the initialised cluster cannot be written"
fi
