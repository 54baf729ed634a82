#!/usr/bin/env bash
# What the user wants done before the machine joins: time zone, script.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

if [[ -n ${TIME_ZONE:-} ]]; then timedatectl set-timezone "$TIME_ZONE"; fi
if [[ -e /opt/fenestra/own/before.sh ]]; then
  own_script before || die "beforeJoin of the pool ended with $?, see $own_log"
fi
