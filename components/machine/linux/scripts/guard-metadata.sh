#!/usr/bin/env bash
# Blocks pods from Azure's metadata service and host agent, for which there is no hop limit. hostNetwork pods are not affected.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh

# block <arguments of the rule...>: first in FORWARD, once.
block() {
  iptables --wait 30 --check FORWARD --source "$POD_CIDR" "$@" --jump DROP 2>/dev/null ||
    iptables --wait 30 --insert FORWARD 1 --source "$POD_CIDR" "$@" --jump DROP
}
block --destination 169.254.169.254/32
block --destination 168.63.129.16/32 --protocol tcp --match multiport --dports 80,32526
