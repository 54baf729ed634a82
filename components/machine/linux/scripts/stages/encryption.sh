#!/usr/bin/env bash
# Fetches the keys of the encryption of Secrets at rest and writes the API server's configuration.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

umask 077
work=$(mktemp "$scratch/encryption.XXXXXX")
trap 'rm -f "$work"' EXIT
read_secret() { secret_get "$1" >"$work"; }

mapfile -t rows </etc/fenestra/encryption-keys.tsv
names=()
for row in "${rows[@]}"; do
  IFS=$'\t' read -r name secret <<<"$row"
  retry "$SECRET_ATTEMPTS" 2 read_secret "$secret" || die "the key $secret of the encryption at rest cannot be read"
  value=$(tr -d '[:space:]' <"$work")
  [[ $value =~ ^[A-Za-z0-9+/]{43}=$ ]] || die "the key $secret of the encryption at rest is not 32 bytes in base64"
  printf -v "$name" '%s' "$value"
  names+=("$name")
done
fill /etc/fenestra/encryption.yaml 0600 /etc/kubernetes/pki/encryption.yaml "${names[@]}"
