#!/usr/bin/env bash
# Refuses to go on where etcd holds Secrets of a key that the stack file no longer has: the update would then delete that key.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh
# shellcheck source=../etcd.sh
. /opt/fenestra/etcd.sh

if [[ -z $PEER_ADDRESSES ]]; then
  answering=https://127.0.0.1:2379
  # Not its health, which an alarm of a full disk spoils.
  up() { etcd_peers get up >/dev/null 2>"$scratch/etcd"; }
  poll "$READY_ATTEMPTS" up || die "etcd does not answer: $(tail -n 1 "$scratch/etcd")"
elif ! ask_peers; then
  log "no other member of etcd answers: the Secrets in it are not compared with the keys"
  exit 0
fi

# strangers: how many Secrets there are of each key that is not known.
strangers() {
  etcd_peers get /registry/secrets/ --prefix --command-timeout 60s 2>"$scratch/etcd" |
    { LC_ALL=C grep -a '^k8s:enc:' || true; } |
    { LC_ALL=C grep -a -v -E "^($ENCRYPTION_PREFIXES)" || true; } |
    cut -d : -f 3-5 | sort | uniq -c
}
found=$(strangers) || die "the Secrets in etcd cannot be read: $(tail -n 1 "$scratch/etcd")"
[[ -z $found ]] || die "Secrets in etcd have keys that secretsEncryption.keys no longer lists; put them back behind the" \
  "first one and write every Secret anew (docs/operations.md). Number and key: ${found//$'\n'/,}"
