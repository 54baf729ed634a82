#!/usr/bin/env bash
# Starts the plug-ins of the key service and waits until each one can encrypt and decrypt: without them the API server does not become ready.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

healthy() {
  curl --silent --show-error --noproxy '*' --fail-with-body --max-time 30 --output "$scratch/kms" "$1" 2>"$scratch/kms.error"
}

systemctl daemon-reload
mapfile -t rows </etc/fenestra/kms.tsv
for row in "${rows[@]}"; do
  IFS=$'\t' read -r name unit url <<<"$row"
  systemctl enable "$unit"
  systemctl restart "$unit"
  poll "$SECRET_ATTEMPTS" healthy "$url" ||
    die "$unit cannot use the key $name: $(cat "$scratch/kms" "$scratch/kms.error" 2>/dev/null | tail -n 2)"
done
