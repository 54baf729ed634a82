#!/usr/bin/env bash
# Kernel modules, kernel settings, delay of a shutdown, clock, no swap, host names. Files of the payload keep these settings after a restart.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

while read -r module; do
  modprobe "$module"
done </etc/modules-load.d/fenestra.conf
sysctl --quiet --load /etc/sysctl.d/90-fenestra.conf

# Of Azure's disks the kernel reads up to 64 MiB ahead at once, for which programs lose their memory and disks their limit
# (Azure/azure-vm-utils#99, actions/runner-images#13938).
printf '%s\n' 'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", ATTRS{model}=="MSFT NVMe Accelerator*|Virtual Disk*", ATTR{queue/read_ahead_kb}="128"' |
  put 0644 /etc/udev/rules.d/90-fenestra.rules
{ udevadm control --reload && udevadm trigger --subsystem-match=block; } || log "warning: udev has not read its rules again"

# logind may have started before cloud-init wrote its file, and the kubelet asks it once, at its start.
systemctl try-reload-or-restart systemd-logind.service

# What Ubuntu's image brings (docs/operations/machines.md). Its syslog has no size (AgentBaker#2376); the journal has all
# of it. Of all drop-ins the last name wins, behind Ubuntu's syslog.conf (journald.conf(5)).
journal=/etc/systemd/journald.conf.d/zz-fenestra.conf
printf '[Journal]\nSystemMaxUse=1G\nForwardToSyslog=no\n' | put 0644 "$journal"
systemctl try-restart systemd-journald.service
if systemctl cat rsyslog.service >/dev/null 2>&1; then systemctl disable --now syslog.socket rsyslog.service; fi
# snapd would exchange the SSM agent and others four times a day.
if command -v snap >/dev/null; then timeout 60 snap refresh --hold >/dev/null || log "warning: snaps are not held"; fi

# Not every network reaches the sources that Ubuntu asks (kubernetes/kops: nodeup/pkg/model/ntp.go).
if [[ -n ${time_source:-} ]]; then
  printf '[Time]\nNTP=%s\n' "$time_source" | put 0644 /etc/systemd/timesyncd.conf.d/fenestra.conf
  printf 'server %s prefer iburst\n' "$time_source" | put 0644 /etc/chrony/sources.d/fenestra.sources
  # The image has one of them.
  systemctl try-restart systemd-timesyncd.service chrony.service >/dev/null 2>&1 || true
fi

swapoff --all
if grep -Eq '^[^#].*[[:space:]]swap[[:space:]]' /etc/fstab 2>/dev/null; then
  text=$(sed -E 's/^([^#].*[[:space:]]swap[[:space:]].*)$/# \1/' /etc/fstab)
  printf '%s\n' "$text" | put 0644 /etc/fstab
fi

# A control-plane machine reaches the API on itself: an internal load balancer drops connections back to their sender
# (kubernetes/kubeadm#1685).
if [[ -n ${MEMBER_ADDRESS:-} ]]; then
  # The whole text first: a part of it would take the file's place.
  text=$(sed '/ # fenestra$/d' /etc/hosts)
  printf '%s\n%s %s # fenestra\n' "$text" "$MEMBER_ADDRESS" "$API_HOST" | put 0644 /etc/hosts
fi

if [[ -e /etc/systemd/system/fenestra-metadata-guard.service ]]; then
  systemctl enable --now fenestra-metadata-guard.service
fi
