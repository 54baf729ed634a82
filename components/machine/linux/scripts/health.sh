#!/usr/bin/env bash
# Opens this machine's health port exactly while its own Node is Ready: the kubelet's port is open within a second of its start, whether it
# has joined or not. A moment in which the node is not Ready, or nobody says, closes nothing.
# shellcheck source=lib.sh
. /opt/fenestra/lib.sh

# The file with the machine's identity may be torn.
[[ -n ${NODE_NAME:-} ]] || retry 3 1 cloud_identity || die "who this machine is cannot be found out"

# listen: takes connections, from this machine only, and ends them.
listen() {
  exec python3 -I -S -c '
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        server.accept()[0].close()' "$HEALTH_PORT"
}

listener=
seen=0
trap '[[ -z $listener ]] || kill "$listener"' EXIT
while :; do
  if node_ready; then
    seen=$SECONDS
    tell_failed || log "nobody was told which units have failed"
    if [[ -z $listener ]] || ! kill -0 "$listener" 2>/dev/null; then
      listen &
      listener=$!
      log "the node is Ready; port $HEALTH_PORT is open"
    fi
  elif [[ -n $listener ]] && ((SECONDS - seen >= HEALTH_PATIENCE)); then
    log "port $HEALTH_PORT is closed: ${answer##*$'\n'}"
    kill "$listener" || true
    wait "$listener" || true
    listener=
  fi
  sleep "$HEALTH_PAUSE"
done
