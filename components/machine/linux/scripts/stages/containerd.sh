#!/usr/bin/env bash
# Starts containerd and waits until it responds.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

systemctl enable --now containerd.service
if [[ -e $state/containerd-started ]]; then systemctl restart containerd.service; fi
touch "$state/containerd-started"
poll "$SERVICE_ATTEMPTS" crictl info >"$scratch/crictl" 2>&1 || die "containerd does not answer: $(tail -n 1 "$scratch/crictl")"
