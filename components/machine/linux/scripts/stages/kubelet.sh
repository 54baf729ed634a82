#!/usr/bin/env bash
# Configures and starts the kubelet.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

install -d -m 0755 /etc/kubernetes/manifests
install -d -m 0700 /var/lib/kubelet
fill /etc/fenestra/kubelet.yaml 0600 /var/lib/kubelet/config.yaml PROVIDER_ID
fill /etc/fenestra/kubelet.env 0644 /var/lib/kubelet/kubelet.env NODE_NAME NODE_IP
systemctl enable --now kubelet.service
if [[ -e $state/kubelet-started ]]; then systemctl restart kubelet.service; fi
touch "$state/kubelet-started"
