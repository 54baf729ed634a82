#!/usr/bin/env bash
# Leaves the secondary addresses of this machine's interface to pods, and hides pods behind its first one outside the network.
# shellcheck source=/dev/null
. /opt/fenestra/lib.sh

# cloud-init puts every secondary address on the interface, anew at each boot; etcd's peers and the kubelet would see them, and no pod could
# have them. Custom data is read too late to keep it from that at the first boot (canonical/cloud-init: DataSourceAzure.py; CAPZ's images have
# a like file: kubernetes-sigs/image-builder, 15_azure-vnet.cfg).
printf 'datasource:\n  Azure:\n    apply_network_config_for_secondary_ips: false\n' |
  put 0644 /etc/cloud/cloud.cfg.d/99-fenestra-pods.cfg
ip -4 -oneline address show scope global | while read -r _ interface _ address _; do
  if [[ $(ip -4 -oneline address show dev "$interface" scope global) == *" $NODE_IP/"* && ${address%/*} != "$NODE_IP" ]]; then
    ip address delete "$address" dev "$interface"
    log "$address of $interface is for pods"
  fi
done

# The plug-in's transparent mode does neither (Azure/azure-container-networking: docs/cni.md). The platform's address answers the first
# address only, and CoreDNS asks it, so it is not exempt.
rule=(POSTROUTING --source "$POD_CIDR" ! --destination "$POD_CIDR" --match addrtype ! --dst-type LOCAL --jump MASQUERADE)
iptables --wait --table nat --check "${rule[@]}" 2>/dev/null || iptables --wait --table nat --append "${rule[@]}"
iptables --wait --policy FORWARD ACCEPT
