#!/usr/bin/env bash
# Starts what goes on after the bootstrap.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

for unit in $TIMERS; do
  systemctl enable --now "$unit"
done
