#!/usr/bin/env bash
# Leaves the secondary addresses of this machine's interface to pods, and hides pods behind its first one outside the network.
# shellcheck source=/dev/null
. /opt/fenestra/lib.sh

# cloud-init puts every secondary address on the interface, anew at each boot; etcd's peers and the kubelet would see
# them, and no pod could have them. Its setting against that is kept with the first boot's data source
# (canonical/cloud-init: DataSourceAzure.py, ds_cfg), before custom data is read. So networkd has a file of ours, which
# counts from here on: a deleted address alone comes back when the link was down.
interface=$(ip -4 -oneline address show scope global | awk -v own="$NODE_IP/" 'index($4, own) == 1 { print $2 }')
[[ -n $interface ]] || die "no interface has the address $NODE_IP"
others() { ip -4 -oneline address show dev "$interface" scope global | awk -v own="$NODE_IP/" 'index($4, own) != 1 { print $4 }'; }
alone() {
  local address
  for address in $(others); do
    ip address delete "$address" dev "$interface" || return 1
    log "$address of $interface is for pods"
  done
  [[ $(ip -4 -oneline address show dev "$interface" scope global) == *" $NODE_IP/"* ]]
}
if [[ -n $(others) ]]; then
  # It answers before networkd has asked for the machine's address again (systemd/systemd: test/test-network,
  # networkctl_reload).
  networkctl reload
  sleep 1
  poll 60 alone || die "$interface does not get the address $NODE_IP back, or keeps those of pods"
fi

# The plug-in's transparent mode does neither (Azure/azure-container-networking: docs/cni.md). The platform's address
# answers the first address only, and CoreDNS asks it, so it is not exempt.
rule=(POSTROUTING --source "$POD_CIDR" ! --destination "$POD_CIDR" --match addrtype ! --dst-type LOCAL --jump MASQUERADE)
iptables --wait 30 --table nat --check "${rule[@]}" 2>/dev/null || iptables --wait 30 --table nat --append "${rule[@]}"
iptables --wait 30 --policy FORWARD ACCEPT
