#!/usr/bin/env bash
# Fetches the certificate authorities and keys with the machine's identity. They are written once all of them are there.
# shellcheck source=../lib.sh
. /opt/fenestra/lib.sh

pki=/etc/kubernetes/pki
workplace secrets

# read_secret <name in the store> <file>
read_secret() { secret_get "$1" >"$work/$2"; }

# An identity's permissions may take minutes to propagate.
retry "$SECRET_ATTEMPTS" 2 read_secret "$SECRET_KUBERNETES_CA" ca || die "the cluster CA cannot be read"
retry 5 2 read_secret "$SECRET_ETCD_CA" etcd-ca || die "the etcd CA cannot be read"
retry 5 2 read_secret "$SECRET_FRONT_PROXY_CA" front-proxy-ca || die "the front proxy CA cannot be read"
retry 5 2 read_secret "$SECRET_SERVICE_ACCOUNT" sa || die "the key of service accounts cannot be read"
retry 5 2 read_secret "$SECRET_ENCRYPTION_KEY" encryption || die "the key of the encryption at rest cannot be read"

# part <file> <regular expression of the PEM label>
part() {
  awk -v label="$2" '
    $0 ~ "^-----BEGIN " label "-----" { inside = 1 }
    inside { print; found = 1 }
    $0 ~ "^-----END " label "-----" { inside = 0 }
    END { if (!found) exit 1 }' "$work/$1"
}

for name in ca etcd-ca front-proxy-ca; do
  part "$name" CERTIFICATE >"$work/$name.crt" || die "the secret of $name holds no certificate"
  part "$name" '[A-Z ]*PRIVATE KEY' >"$work/$name.key" || die "the secret of $name holds no private key"
done
part sa '[A-Z ]*PRIVATE KEY' >"$work/sa.key" || die "the secret of the service accounts holds no private key"
openssl pkey -in "$work/sa.key" -pubout -out "$work/sa.pub"
ENCRYPTION_KEY=$(tr -d '[:space:]' <"$work/encryption")
[[ $ENCRYPTION_KEY =~ ^[A-Za-z0-9+/]{43}=$ ]] || die "the key of the encryption at rest is not 32 bytes in base64"

install -d -m 0755 /etc/kubernetes "$pki" "$pki/etcd"
for name in ca front-proxy-ca sa; do
  if [[ $name == sa ]]; then put 0644 "$pki/sa.pub" <"$work/sa.pub"; else put 0644 "$pki/$name.crt" <"$work/$name.crt"; fi
  put 0600 "$pki/$name.key" <"$work/$name.key"
done
put 0644 "$pki/etcd/ca.crt" <"$work/etcd-ca.crt"
put 0600 "$pki/etcd/ca.key" <"$work/etcd-ca.key"
fill /etc/fenestra/encryption.yaml 0600 "$pki/encryption.yaml" ENCRYPTION_KEY
