#!/usr/bin/env bash
# Starts the jobs that run after the bootstrap.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

for unit in $TIMERS; do
  systemctl enable --now "$unit"
done
