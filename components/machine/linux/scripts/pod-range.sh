#!/usr/bin/env bash
# pod-range.sh <name of a kubeconfig>: a new Node may have another range of pods than the one before it. The bridge plug-in
# refuses that beside the old address, which nobody takes away, nor the route to the machine that had the range before
# (flannel-io/flannel#1850). flannel writes its range when it starts only (flannel-io/flannel: main.go,
# HandleSubnetFile), and its plug-in reads it at each pod. kube-proxy exchanges its rules and its entries of conntrack,
# the policies their table, and the kubelet mounts, when they start. A Windows worker is replaced
# (docs/operations/backup.md).
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh

bridge=$(ip -4 -oneline address show dev cni0 2>/dev/null | awk '{ print $4 }') || true
routes=$(ip -4 route show dev flannel.1 2>/dev/null) || true
file=/run/flannel/subnet.env
written=$(sed -n 's/^FLANNEL_SUBNET=//p' "$file" 2>/dev/null) || true
if [[ -z $bridge$routes$written ]]; then exit 0; fi
range=$(kube "$1" get node "$NODE_NAME" --output 'jsonpath={.spec.podCIDR}') && has_form "$range" '[0-9.]+/[0-9]+' || exit 1
if grep -q "^$range " <<<"$routes"; then
  log "the route to the machine that had $range before goes"
  ip route delete "$range" dev flannel.1
fi
# is_other <address with its prefix>: whether it is of another range.
is_other() {
  [[ -n $1 ]] && ! python3 -I -c 'import ipaddress as i, sys; sys.exit(i.ip_interface(sys.argv[1]).network != i.ip_network(sys.argv[2]))' "$1" "$range" 2>/dev/null
}
if is_other "$written"; then
  # Before the bridge goes: the next pod would bring it back as it was.
  log "flannel has $written of the Node before, and starts anew"
  rm -f "$file"
  for pod in $(timeout 30 crictl pods --name '^kube-flannel' --quiet); do timeout 60 crictl stopp "$pod" >/dev/null; done
fi
if ! is_other "$bridge"; then exit 0; fi
log "pods had addresses beside $bridge; this machine's range is $range now"
# Those of the machine's own network have no address.
for pod in $(timeout 30 crictl pods --quiet); do
  [[ -z $(timeout 30 crictl inspectp --output go-template --template '{{.status.network.ip}}' "$pod") ]] || timeout 60 crictl stopp "$pod" >/dev/null
done
ip link delete cni0 && rm -rf /var/lib/cni/networks
